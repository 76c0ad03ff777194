import { EventEmitter } from 'node:events'
import type { Consumer } from 'kafkajs'
import { expect, it } from 'vitest'
import { kafkajsModule } from '../kafka-client/kafkajs.ts'
import { systemTime } from '../runtime/time.ts'
import { createThrottling } from './throttling.ts'

const EXPELLED = 25
const events = { REQUEST_QUEUE_SIZE: 'queue', HEARTBEAT: 'heartbeat', GROUP_JOIN: 'join' }
const { createErrorFromCode } = kafkajsModule('src/protocol/error.js')

it.each([events.HEARTBEAT, events.GROUP_JOIN])('names a failed heartbeat until the next %s', (event) => {
  const throttling = createThrottling(systemTime)
  const consumer = Object.assign(new EventEmitter(), { events })
  throttling.watch(consumer as unknown as Consumer)
  throttling.heartbeatFailed(createErrorFromCode(EXPELLED))
  expect(throttling.problems()).toEqual([expect.stringMatching(/^kafka: heartbeats fail: .* \(UNKNOWN_MEMBER_ID\): /)])
  consumer.emit(event, {})
  expect(throttling.problems()).toEqual([])
})
