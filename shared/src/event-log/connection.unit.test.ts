import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLog } from '../process/log.ts'
import { createKafka } from './connection.ts'

type Queue = InstanceType<typeof RequestQueue>
const newQueue = RequestQueue as unknown as new (
  options: object,
) => Queue & {
  maybeThrottle(ms: number): void
  push(request: object): void
}

describe('the timer of kafkajs that is corrected here', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    createKafka(['127.0.0.1:9092'], 'test', createLog('test', 'silent'))
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
    const manifest = createRequire(import.meta.url).resolve('kafkajs/package.json')
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
