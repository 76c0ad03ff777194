import { createRequire } from 'node:module'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { kafkajs, kafkajsModule } from './kafkajs.ts'
import { keepCommitted } from './keep-committed.ts'
import { createPrivateModules } from './private-modules.ts'

type Queue = {
  checkPendingRequests(): void
  scheduleCheckPendingRequests(): void
  maybeThrottle(ms: number): void
  push(request: object): void
}
const require = createRequire(import.meta.url)
const newQueue: new (options: object) => Queue = kafkajsModule('src/network/requestQueue/index.js')

it('is of the version that parts are replaced of, and another one is refused', () => {
  expect(kafkajsModule('package.json').version).toBe('2.2.4')
  const manifest = require.resolve('kafkajs/package.json')
  expect(() => createPrivateModules(manifest, '2.2.5')).toThrow(
    'kafkajs 2.2.4 is installed, but parts of 2.2.5 are replaced here: install 2.2.5',
  )
})

describe('the timer of kafkajs that is corrected here', () => {
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

  it('is not armed while no request waits', () => {
    const { queue } = openQueue()
    queue.checkPendingRequests()
    queue.scheduleCheckPendingRequests()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is armed once while a request waits, sends it when its time has come, and is not armed again', () => {
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

describe('the metadata that kafkajs is asked for', () => {
  const Cluster = kafkajsModule('src/cluster/index.js')

  function clusterOf(broker: { metadata(topics: string[]): Promise<object> }) {
    const brokerPool = {
      async refreshMetadataIfNecessary() {},
      async withBroker(callback: (asked: object) => Promise<object>) {
        return callback({ broker }).catch(() => null)
      },
    }
    const retrier = (attempt: () => Promise<object>) => attempt()
    return Object.assign(Object.create(Cluster.prototype), { brokerPool, retrier })
  }

  it('is what a broker tells', async () => {
    const told = { topicMetadata: [] }
    const cluster = clusterOf({ metadata: async () => told })
    expect(await cluster.metadata({ topics: ['plants'] })).toBe(told)
  })

  it('is missed with an error that says so, when each broker refuses', async () => {
    const refused = clusterOf({ metadata: () => Promise.reject(new Error('LEADER_NOT_AVAILABLE')) })
    await expect(refused.metadata({ topics: ['plants'] })).rejects.toThrow(
      'no broker tells the metadata of plants',
    )
  })
})

describe('a kafkajs that the application loads itself', () => {
  const theirs: typeof kafkajs = require('kafkajs')
  const QUEUE = 'src/network/requestQueue/index.js'
  const LAZY = 'src/protocol/requests/metadata/v5/request.js'

  it('is another one, as it comes', () => {
    expect(theirs.Kafka).not.toBe(kafkajs.Kafka)
    const queue = require(`kafkajs/${QUEUE}`).prototype
    expect(queue.scheduleCheckPendingRequests).not.toBe(
      kafkajsModule(QUEUE).prototype.scheduleCheckPendingRequests,
    )
    expect(require('kafkajs/src/consumer/filterAbortedMessages.js')).not.toBe(keepCommitted)
    expect(kafkajsModule('src/consumer/filterAbortedMessages.js')).toBe(keepCommitted)
    const zstd = theirs.CompressionTypes.ZSTD
    expect(() => theirs.CompressionCodecs[zstd]()).toThrow('not implemented')
    expect(kafkajs.CompressionCodecs[zstd]()).toHaveProperty('decompress')
  })

  it('shares no modules with this one, nor those that are loaded when they are needed', () => {
    const metadata = kafkajsModule('src/protocol/requests/metadata/index.js')
    metadata.protocol({ version: 5 })({ topics: [] })
    expect(Object.keys(require.cache)).not.toContain(require.resolve(`kafkajs/${LAZY}`))
    expect(require(`kafkajs/${LAZY}`)).not.toBe(kafkajsModule(LAZY))
  })
})
