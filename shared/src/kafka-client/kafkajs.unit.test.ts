import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { beforeEach, describe, expect, it, vi } from 'vitest'
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

it('a module whose load failed is loaded again', () => {
  let failures = 1
  const globals = {
    get Date() {
      if (failures-- > 0) throw new Error('too many open files')
      return Date
    },
  }
  const modules = createPrivateKafkajs('2.2.4', globals)
  expect(() => modules.load('index.js')).toThrow('too many open files')
  expect(modules.load('index.js')).toHaveProperty('Kafka')
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

describe('the timer of the request queue', () => {
  beforeEach(() => fakeTimers())

  function openQueue() {
    const sent: number[] = []
    const logger = { debug() {}, warn() {} }
    const queue = new newQueue({
      maxInFlightRequests: 1,
      requestTimeout: 8_000,
      clientId: 'c',
      broker: 'b',
      logger,
    })
    const push = (correlationId: number) => {
      const entry = { correlationId, apiKey: 0, apiVersion: 0, apiName: 'x', resolve() {}, reject() {} }
      queue.push({ entry, expectResponse: false, sendRequest: () => sent.push(correlationId) })
    }
    return { queue, push, sent }
  }

  it('is not armed while no request is pending', () => {
    const { queue } = openQueue()
    queue.checkPendingRequests()
    queue.scheduleCheckPendingRequests()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is armed once while requests are pending, and not again after they were sent', () => {
    const { queue, push, sent } = openQueue()
    queue.maybeThrottle(500)
    push(1)
    push(2)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(499)
    expect(sent).toEqual([])
    vi.advanceTimersByTime(50)
    expect(sent).toEqual([1, 2])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('kafkajs as the application loads it', () => {
  const applications: typeof kafkajs = require('kafkajs')
  const QUEUE = 'src/network/requestQueue/index.js'
  const LAZY = 'src/protocol/requests/metadata/v5/request.js'

  it('has none of the corrections', () => {
    expect(applications.Kafka).not.toBe(kafkajs.Kafka)
    const queue = require(`kafkajs/${QUEUE}`).prototype
    expect(queue.scheduleCheckPendingRequests).not.toBe(kafkajsModule(QUEUE).prototype.scheduleCheckPendingRequests)
    expect(require('kafkajs/src/consumer/filterAbortedMessages.js')).not.toBe(keepCommitted)
    expect(kafkajsModule('src/consumer/filterAbortedMessages.js')).toBe(keepCommitted)
  })

  it('shares no modules with the corrected one, not even those that are loaded on demand', () => {
    const metadata = kafkajsModule('src/protocol/requests/metadata/index.js')
    metadata.protocol({ version: 5 })({ topics: [] })
    expect(Object.keys(require.cache)).not.toContain(require.resolve(`kafkajs/${LAZY}`))
    expect(require(`kafkajs/${LAZY}`)).not.toBe(kafkajsModule(LAZY))
  })
})
