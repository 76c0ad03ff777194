import { createRequire } from 'node:module'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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

describe('the timer of the request queue', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

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

describe('the heartbeats of a consumer', () => {
  const INTERVAL_MS = 2_000
  const HOUR_MS = 3_600_000
  const ConsumerGroup = kafkajsModule('src/consumer/consumerGroup.js')
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([-HOUR_MS, HOUR_MS])('follow each other at the interval when the clock jumps by %d ms', async (jumpMs) => {
    const group = new ConsumerGroup({ logger: { namespace() {} }, instrumentationEmitter: { emit() {} } })
    const heartbeat = vi.fn(async () => {})
    Object.assign(group, { memberId: 'member', coordinator: { heartbeat } })
    vi.setSystemTime(Date.now() + jumpMs)
    vi.advanceTimersByTime(INTERVAL_MS - 1)
    await group.heartbeat({ interval: INTERVAL_MS })
    expect(heartbeat).toHaveBeenCalledTimes(0)
    vi.advanceTimersByTime(1)
    await group.heartbeat({ interval: INTERVAL_MS })
    expect(heartbeat).toHaveBeenCalledTimes(1)
  })
})

describe('cluster metadata', () => {
  const Cluster = kafkajsModule('src/cluster/index.js')

  function clusterOf(broker: { metadata(topics: string[]): Promise<object> }) {
    const brokerPool = {
      async refreshMetadataIfNecessary() {},
      async withBroker(callback: (parameters: object) => Promise<object>) {
        return callback({ broker }).catch(() => null)
      },
    }
    const retrier = (attempt: () => Promise<object>) => attempt()
    return Object.assign(Object.create(Cluster.prototype), { brokerPool, retrier })
  }

  it('is the response of a broker', async () => {
    const response = { topicMetadata: [] }
    const cluster = clusterOf({ metadata: async () => response })
    expect(await cluster.metadata({ topics: ['plants'] })).toBe(response)
  })

  it('fails with an error that says so when no broker returns it', async () => {
    const failing = clusterOf({ metadata: () => Promise.reject(new Error('LEADER_NOT_AVAILABLE')) })
    await expect(failing.metadata({ topics: ['plants'] })).rejects.toThrow('no broker returned the metadata of plants')
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
    const zstd = applications.CompressionTypes.ZSTD
    expect(() => applications.CompressionCodecs[zstd]()).toThrow('not implemented')
    expect(kafkajs.CompressionCodecs[zstd]()).toHaveProperty('decompress')
  })

  it('shares no modules with the corrected one, not even those that are loaded on demand', () => {
    const metadata = kafkajsModule('src/protocol/requests/metadata/index.js')
    metadata.protocol({ version: 5 })({ topics: [] })
    expect(Object.keys(require.cache)).not.toContain(require.resolve(`kafkajs/${LAZY}`))
    expect(require(`kafkajs/${LAZY}`)).not.toBe(kafkajsModule(LAZY))
  })
})
