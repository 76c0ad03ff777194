import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import './kafkajs.ts'

type Queue = {
  checkPendingRequests(): void
  scheduleCheckPendingRequests(): void
  maybeThrottle(ms: number): void
  push(request: object): void
}
const require = createRequire(import.meta.url)
const newQueue: new (options: object) => Queue = require('kafkajs/src/network/requestQueue/index.js')

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

  it('belongs to this version of kafkajs; look at its request queue again before another one comes in', () => {
    const manifest = require.resolve('kafkajs/package.json')
    expect(JSON.parse(readFileSync(manifest, 'utf8')).version).toBe('2.2.4')
  })

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
  const Cluster = require('kafkajs/src/cluster/index.js')

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
