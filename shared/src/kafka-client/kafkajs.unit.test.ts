import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { keepCommitted } from './fetched-records.ts'
import { createPrivateKafkajs, kafkajs, kafkajsModule } from './kafkajs.ts'

type Queue = {
  checkPendingRequests(): void
  scheduleCheckPendingRequests(): void
  maybeThrottle(ms: number): void
  push(request: object): void
}
const require = createRequire(import.meta.url)
const newQueue: new (options: object) => Queue = kafkajsModule('src/network/requestQueue/index.js')

it('kafkajs has the version that the corrections are for; any other is rejected', () => {
  expect(kafkajsModule('package.json').version).toBe('2.2.4')
  expect(() => createPrivateKafkajs('2.2.5')).toThrow(
    'kafkajs 2.2.4 is installed, but the corrections are for 2.2.5: install 2.2.5',
  )
})

const WITHOUT_DESCRIPTORS = `
  import { openSync } from 'node:fs'
  import { kafkajs, kafkajsModule } from '${new URL('kafkajs.ts', import.meta.url).href}'
  try {
    while (true) openSync('/', 'r')
  } catch {}
  kafkajsModule('src/protocol/requests/createTopics/index.js').protocol({ version: 3 })({ topics: [] })
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.GZIP]()
`

it('a process without free file descriptors has each module', () => {
  const command = `ulimit -n 64 && exec '${process.execPath}' --input-type=module --eval "$SCRIPT"`
  const { stderr } = spawnSync('sh', ['-c', command], {
    env: { ...process.env, SCRIPT: WITHOUT_DESCRIPTORS },
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
})

it('the timer of the request queue is armed once, and only while requests are pending', () => {
  onTestFinished(fakeTimers())
  const sent: number[] = []
  const logger = { debug() {}, warn() {} }
  const queue = new newQueue({ maxInFlightRequests: 1, requestTimeout: 8_000, clientId: 'c', broker: 'b', logger })
  queue.checkPendingRequests()
  queue.scheduleCheckPendingRequests()
  expect(vi.getTimerCount()).toBe(0)
  queue.maybeThrottle(500)
  for (const correlationId of [1, 2]) {
    const entry = { correlationId, apiKey: 0, apiVersion: 0, apiName: 'x', resolve() {}, reject() {} }
    queue.push({ entry, expectResponse: false, sendRequest: () => sent.push(correlationId) })
  }
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(499)
  expect(sent).toEqual([])
  vi.advanceTimersByTime(50)
  expect(sent).toEqual([1, 2])
  expect(vi.getTimerCount()).toBe(0)
})

it('kafkajs as the application loads it shares no modules with the corrected one, and has none of the corrections', () => {
  const FILTER = 'src/consumer/filterAbortedMessages.js'
  const LAZY = 'src/protocol/requests/metadata/v5/request.js'
  expect(require('kafkajs').Kafka).not.toBe(kafkajs.Kafka)
  expect(kafkajsModule(FILTER)).toBe(keepCommitted)
  expect(require(`kafkajs/${FILTER}`)).not.toBe(keepCommitted)
  expect(Object.keys(require.cache)).not.toContain(require.resolve(`kafkajs/${LAZY}`))
  expect(require(`kafkajs/${LAZY}`)).not.toBe(kafkajsModule(LAZY))
})
