import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { ConsistencyToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { describe, expect, it } from 'vitest'
import { createRetries } from './retry-until-covered.ts'

const P = 3 as Partition
const DEADLINE_MS = 2_000
const beyond: ConsistencyToken = new Map([[P, (2 ** 48 - 1) as Offset]])

/** Requests whose window and checkpoint the test moves. Counts the reads of the checkpoint, and the attempts. */
function openRequests() {
  const state = { now: 0, next: 5, checkpoint: 2, checkpointReads: 0, attempts: 0 }
  const timers: { at: number; callback: () => void }[] = []
  /** The clock jumps to the next timer when nothing else is left to do. */
  function jump(): void {
    const [next] = timers.sort((a, b) => a.at - b.at).splice(0, 1)
    state.now = next?.at ?? state.now
    next?.callback()
  }
  const retry = createRetries(
    {
      lookUp: async () => {
        state.checkpointReads++
        return [{ checkpoint: state.checkpoint as Offset, entries: [] }] as never
      },
    },
    { window: () => ({ next: state.next as Offset }) as never, needTail() {} },
    {
      deadlineMs: DEADLINE_MS,
      time: {
        now: () => state.now,
        after(ms, callback) {
          timers.push({ at: state.now + ms, callback })
          setImmediate(jump)
          return () => {}
        },
      },
    },
  )
  const request = (positions: ConsistencyToken, result: () => string | undefined = () => undefined) =>
    retry(positions, async () => {
      state.attempts++
      return result()
    })
  return { state, request }
}

describe('requests that wait for a position that no log has', () => {
  it('make one attempt each, and together read its checkpoint once in 20 ms, until their deadline', async () => {
    const { state, request } = openRequests()
    const results = await Promise.all(Array.from({ length: 500 }, () => request(beyond)))
    for (const result of results) expect(result).toEqual({ is: 'coverageGap' })
    expect([state.attempts, state.now <= DEADLINE_MS]).toEqual([500, true])
    expect(state.checkpointReads).toBeGreaterThan(1)
    expect(state.checkpointReads).toBeLessThanOrEqual(DEADLINE_MS / 20)
  })

  it('make a further attempt as soon as the tail or the read model has passed the position', async () => {
    for (const passed of [{ next: 10 }, { checkpoint: 9 }]) {
      const { state, request } = openRequests()
      const plant = await request(new Map([[P, 9 as Offset]]), () => {
        setImmediate(() => Object.assign(state, passed))
        return state.attempts === 3 ? 'a plant' : undefined
      })
      expect([plant, state.attempts]).toEqual(['a plant', 3])
      expect(state.now).toBeLessThan(DEADLINE_MS)
    }
  })
})

it('a request whose positions the tail has passed, or without any, reads no checkpoint', async () => {
  const { state, request } = openRequests()
  for (const positions of [new Map(), new Map([[P, 4 as Offset]])]) await request(positions)
  expect(state.attempts).toBeGreaterThan(20)
  expect(state.checkpointReads).toBe(0)
})
