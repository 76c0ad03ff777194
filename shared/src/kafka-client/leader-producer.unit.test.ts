import { EventEmitter } from 'node:events'
import { connect } from 'node:net'
import type { KafkaConfig } from 'kafkajs'
import { expect, it, onTestFinished } from 'vitest'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { openBrokers } from '../../../tests/support/scripted-broker.ts'
import { createAppender } from '../event-log/append.ts'

const LEADER = 1

/** An appender to a topic of which this broker leads one partition, and no broker the other one. */
async function openAppender(options?: Partial<KafkaConfig>, isSilent = () => false) {
  const [{ address }] = await openBrokers({ known: { leader: LEADER, leaderEpoch: 1, end: 100 }, isSilent })
  const limits = { requestTimeout: 5_000, connectionTimeout: 5_000 }
  const appender = createAppender(createImpatientKafka(address, { ...limits, ...options }), 'plants')
  onTestFinished(() => appender.close())
  await appender.refreshLeaders()
  return { responds: () => appender.responds(LEADER, 'suspect') }
}

it('a leader responds although another partition has no leader, unless it is frozen', async () => {
  let isFrozen = false
  const { responds } = await openAppender({ requestTimeout: 2_000 }, () => isFrozen)
  expect([await responds(), await responds()]).toEqual([true, true])
  isFrozen = true
  expect(await responds()).toBe(false)
})

it('a request that comes while its connection asks for the versions of the broker waits for them', async () => {
  const connected = new EventEmitter()
  const { responds } = await openAppender({
    socketFactory: ({ host, port, onConnect }) =>
      connect(port, host, () => {
        onConnect()
        connected.emit('next')
      }),
  })
  const second = new Promise<boolean>((resolve) => connected.once('next', () => resolve(responds())))
  expect(await Promise.all([responds(), second])).toEqual([true, true])
})
