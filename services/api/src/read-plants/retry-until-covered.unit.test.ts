import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { ConsistencyToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createRetries } from './retry-until-covered.ts'

const P = 3 as Partition
const DEADLINE_MS = 2_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Requests whose window and checkpoint the test moves. Counts the reads of the checkpoint, and the attempts. */
function openRequests() {
  const state = { next: 5, checkpoint: 2, checkpointReads: 0, attempts: 0 }
  const retry = createRetries(
    {
      lookUp: async () => {
        state.checkpointReads++
        return [{ checkpoint: state.checkpoint as Offset, entries: [] }] as never
      },
    },
    { window: () => ({ next: state.next as Offset }) as never, needTail() {} },
    { deadlineMs: DEADLINE_MS, time: systemTime },
  )
  const request = (positions: ConsistencyToken, result: () => string | undefined = () => undefined) =>
    retry(positions, async () => {
      state.attempts++
      return result()
    })
  return { state, request }
}

it('requests for a position that no log has make one attempt each, and together read its checkpoint once in 20 ms', async () => {
  const { state, request } = openRequests()
  const requests = Array.from({ length: 500 }, () => request(new Map([[P, (2 ** 48 - 1) as Offset]])))
  await vi.advanceTimersByTimeAsync(DEADLINE_MS)
  expect(await Promise.all(requests)).toEqual(Array(500).fill({ is: 'coverageGap' }))
  expect(state.attempts).toBe(500)
  expect(state.checkpointReads).toBeGreaterThan(1)
  expect(state.checkpointReads).toBeLessThanOrEqual(DEADLINE_MS / 20)
})

it.each([{ next: 10 }, { checkpoint: 9 }])(
  'a request makes a further attempt as soon as %j is past its position',
  async (passed) => {
    const { state, request } = openRequests()
    const plant = request(new Map([[P, 9 as Offset]]), () => {
      setImmediate(() => Object.assign(state, passed))
      return state.attempts === 3 ? 'a plant' : undefined
    })
    await vi.advanceTimersByTimeAsync(DEADLINE_MS - 1)
    expect([await plant, state.attempts]).toEqual(['a plant', 3])
  },
)

it('a request whose positions the tail has passed, or without any, reads no checkpoint', async () => {
  const { state, request } = openRequests()
  const requests = [new Map(), new Map([[P, 4 as Offset]])].map((positions) => request(positions))
  await vi.advanceTimersByTimeAsync(DEADLINE_MS)
  expect(await Promise.all(requests)).toEqual(Array(2).fill({ is: 'coverageGap' }))
  expect(state.attempts).toBeGreaterThan(20)
  expect(state.checkpointReads).toBe(0)
})
