import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createDispatch } from './dispatch.ts'

type Request = { dueMs: number; takesMs: number }
type Connection = { dueMs: number; answerMs: number }

/** Simulates the generator and a server on a simulated clock. Returns the latencies in the order of the requests. */
function play(requests: readonly Request[], connections: number) {
  const out = new Set<Connection>()
  const latencies = new Map<number, number>()
  let [nowMs, sent] = [0, 0]
  function send(connection: Connection, dueMs: number): void {
    const { takesMs } = requests[sent++] as Request
    out.add(Object.assign(connection, { dueMs, answerMs: nowMs + takesMs }))
    expect(out.size).toBeLessThanOrEqual(connections)
  }
  const unused = Array.from({ length: connections }, () => ({ dueMs: 0, answerMs: 0 }))
  const dispatch = createDispatch<Connection>(unused, send)
  function respondUntil(endMs: number): void {
    const next = [...out].toSorted((a, b) => a.answerMs - b.answerMs)[0]
    if (next === undefined || next.answerMs > endMs) return
    nowMs = next.answerMs
    latencies.set(next.dueMs, nowMs - next.dueMs)
    out.delete(next)
    dispatch.answered(next)
    respondUntil(endMs)
  }
  for (const { dueMs } of requests) {
    respondUntil(dueMs)
    nowMs = dueMs
    dispatch.arrive(dueMs)
    expect(dispatch.out()).toBe(out.size)
  }
  respondUntil(Number.POSITIVE_INFINITY)
  return requests.map(({ dueMs }) => latencies.get(dueMs))
}

/** The textbook queue: the server that is free first takes the next request. Returns the latencies. */
function queue(requests: readonly Request[], servers: number): number[] {
  const freeAt = Array<number>(servers).fill(0)
  return requests.map(({ dueMs, takesMs }) => {
    const server = freeAt.indexOf(Math.min(...freeAt))
    const endMs = Math.max(dueMs, freeAt[server] as number) + takesMs
    freeAt[server] = endMs
    return endMs - dueMs
  })
}

const times = fc.record({ gapMs: fc.integer({ min: 1, max: 20 }), takesMs: fc.integer({ min: 1, max: 50 }) })
// No two at once, so that the order is not a matter of chance.
const requests = fc.array(times, { maxLength: 80 }).map((sample) => {
  let dueMs = 0
  return sample.map(({ gapMs, takesMs }) => {
    dueMs += gapMs
    return { dueMs, takesMs }
  })
})

it('requests of an open loop have the latencies of a queue that they enter when they are due', () => {
  fc.assert(
    fc.property(requests, fc.integer({ min: 1, max: 8 }), (all, connections) => {
      expect(play(all, connections)).toEqual(queue(all, connections))
    }),
  )
})

it('a stall counts for all requests that are due meanwhile, not only for those in flight', () => {
  const stalled = Array.from({ length: 100 }, (_, n) => ({ dueMs: n, takesMs: n === 0 ? 100 : 0 }))
  // A closed loop would have had one latency of 100 ms and no other.
  expect(play(stalled, 1)).toEqual(stalled.map(({ dueMs }) => 100 - dueMs))
})
