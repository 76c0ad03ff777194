import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDispatch } from './dispatch.ts'

type Request = { dueMs: number; takesMs: number }

/** Simulates the generator and a server on a clock of its own. Returns the latencies, in the order of the responses. */
function play(requests: readonly Request[], connections: number): { dueMs: number; latencyMs: number }[] {
  const dispatch = createDispatch(connections)
  const takes = requests.map(({ takesMs }) => takesMs)
  const out = new Map<number, number>()
  const latencies: { dueMs: number; latencyMs: number }[] = []
  let sent = 0
  let at = 0
  const send = (connection: number, nowMs: number) => out.set(connection, nowMs + (takes[sent++] as number))
  for (;;) {
    const due = requests[at]?.dueMs ?? Number.POSITIVE_INFINITY
    const [connection, answerMs] = [...out].reduce((a, b) => (b[1] < a[1] ? b : a), [-1, Number.POSITIVE_INFINITY])
    if (due === Number.POSITIVE_INFINITY && answerMs === Number.POSITIVE_INFINITY) return latencies
    if (answerMs <= due) {
      out.delete(connection)
      const dueMs = dispatch.dueOf(connection)
      latencies.push({ dueMs, latencyMs: answerMs - dueMs })
      if (dispatch.answered(connection)) send(connection, answerMs)
    } else {
      at++
      const free = dispatch.arrive(due)
      if (free !== undefined) send(free, due)
    }
  }
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

const requests = fc
  .array(fc.record({ gapMs: fc.nat({ max: 20 }), takesMs: fc.integer({ min: 1, max: 50 }) }), {
    maxLength: 80,
  })
  .map((sample) => {
    let dueMs = 0
    return sample.map(({ gapMs, takesMs }) => {
      // No two at once, so that the order is not a matter of chance.
      dueMs += gapMs + 1
      return { dueMs, takesMs }
    })
  })
const connections = fc.integer({ min: 1, max: 8 })

describe('requests of an open loop', () => {
  it('have the latencies of a queue that they enter when they are due', () => {
    fc.assert(
      fc.property(requests, connections, (all, count) => {
        const played = play(all, count).toSorted((a, b) => a.dueMs - b.dueMs)
        expect(played.map(({ latencyMs }) => latencyMs)).toEqual(queue(all, count))
      }),
    )
  })

  it('count a stall for all requests due meanwhile, not only for the one in flight', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 500 }), (stallMs) => {
        const stalled = Array.from({ length: stallMs }, (_, n) => ({
          dueMs: n,
          takesMs: n === 0 ? stallMs : 0,
        }))
        const latencies = play(stalled, 1).map(({ latencyMs }) => latencyMs)
        const mean = latencies.reduce((sum, ms) => sum + ms, 0) / stallMs
        // A closed loop would have had one of stallMs and nothing else.
        expect(mean).toBeCloseTo((stallMs + 1) / 2, 6)
      }),
    )
  })

  it('are never more in flight than there are connections, and wait in order', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 200 }), connections, (steps, count) => {
        const dispatch = createDispatch(count)
        const busy: number[] = []
        const waiting: number[] = []
        for (const [now, isArrival] of steps.entries()) {
          if (isArrival) {
            const connection = dispatch.arrive(now)
            if (connection === undefined) waiting.push(now)
            else {
              expect(busy).not.toContain(connection)
              busy.push(connection)
            }
          } else if (busy.length > 0) {
            const [connection] = busy as [number]
            const next = waiting.shift()
            expect(dispatch.answered(connection)).toBe(next !== undefined)
            if (next === undefined) busy.shift()
            else expect(dispatch.dueOf(connection)).toBe(next)
          }
          expect([dispatch.out(), dispatch.waiting()]).toEqual([busy.length, waiting.length])
          expect(busy.length).toBeLessThanOrEqual(count)
        }
        expect(dispatch.dropWaiting()).toBe(waiting.length)
        expect(dispatch.waiting()).toBe(0)
      }),
    )
  })
})
