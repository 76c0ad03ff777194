import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { ConsistencyToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { describe, expect, it } from 'vitest'
import { createReachGate } from './reach-gate.ts'

const P = 3 as Partition
const beyond: ConsistencyToken = new Map([[P, (2 ** 48 - 1) as Offset]])

/** A gate whose time, window and checkpoint the test moves; counts the reads of the checkpoint, and the attempts. */
function openGate() {
  const state = { now: 0, next: 5, checkpoint: 2, checkpointReads: 0, attempts: 0 }
  const gate = createReachGate(
    {
      lookUp: async () => {
        state.checkpointReads++
        return [{ checkpoint: state.checkpoint as Offset, entries: [] }] as never
      },
    },
    { window: () => ({ next: state.next as Offset }) as never },
    { now: () => state.now, after: () => expect.unreachable() },
  )
  const request = (positions: ConsistencyToken, result: () => string | undefined = () => undefined) =>
    gate(positions, async () => {
      state.attempts++
      return result()
    })
  return { state, request }
}

describe('requests that wait for a position that no log has', () => {
  it('make one attempt each, and together read its checkpoint once in 20 ms', async () => {
    const { state, request } = openGate()
    const requests = Array.from({ length: 500 }, () => request(beyond))
    for (state.now = 0; state.now < 2_000; state.now += 5)
      for (const attempt of requests) expect(await attempt()).toBeUndefined()
    expect([state.attempts, state.checkpointReads]).toEqual([500, 100])
  })

  it('make a further attempt as soon as the tail or the read model has passed the position', async () => {
    for (const passed of [{ next: 10 }, { checkpoint: 9 }]) {
      const { state, request } = openGate()
      let found: string | undefined
      const attempt = request(new Map([[P, 9 as Offset]]), () => found)
      for (const now of [0, 200, 400]) {
        state.now = now
        expect(await attempt()).toBeUndefined()
      }
      expect(state.attempts).toBe(1)
      Object.assign(state, passed, { now: 600 })
      expect(await attempt()).toBeUndefined()
      found = 'a plant'
      expect(await attempt()).toBe('a plant')
      expect(state.attempts).toBe(3)
    }
  })
})

it('a request whose positions the tail has passed, or without any, reads no checkpoint', async () => {
  const { state, request } = openGate()
  for (const positions of [new Map(), new Map([[P, 4 as Offset]])]) {
    const attempt = request(positions)
    for (let n = 0; n < 10; n++) await attempt()
  }
  expect([state.attempts, state.checkpointReads]).toEqual([20, 0])
})
