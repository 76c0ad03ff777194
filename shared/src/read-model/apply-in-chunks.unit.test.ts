import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import type { LogRecord } from '../plant/plant-created.ts'
import { BEFORE_FIRST, offsetOf } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { emptyPartition, fold } from '../protocol/first-wins.ts'
import { applyInChunks } from './apply-in-chunks.ts'

const START: Checkpoint = { offset: BEFORE_FIRST, eventId: '' }

/** A partition as apply.lua keeps it; `lost` tells of each call whether it never arrives. */
function createPartition(lost: (call: number) => boolean = () => false) {
  const state = emptyPartition()
  let calls = 0
  let longest = 0
  return {
    state,
    longest: () => longest,
    async apply(from: Checkpoint, records: readonly LogRecord[], next: Checkpoint): Promise<Checkpoint> {
      longest = Math.max(longest, records.length)
      if (lost(calls++)) throw new Error('lost')
      if (state.checkpoint.offset !== from.offset) return state.checkpoint
      fold(state, records)
      state.checkpoint = next
      return next
    },
  }
}

describe('records applied in chunks', () => {
  it('leave what they leave in one piece, and no chunk is longer than it may be', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.integer({ min: 1, max: 9 }), async (batches, maxRecords) => {
        const [whole, cut] = [createPartition(), createPartition()]
        let from = START
        for (const { records, next } of batches) {
          await whole.apply(from, records, next)
          expect(await applyInChunks(cut.apply, from, records, next, maxRecords)).toBe(next)
          from = next
        }
        expect(cut.state).toEqual(whole.state)
        expect(cut.longest()).toBeLessThanOrEqual(maxRecords)
      }),
    )
  })

  it('go on from where the partition really stands when it stands elsewhere', async () => {
    const partition = createPartition()
    const elsewhere = { offset: offsetOf(70), eventId: '' } as const
    partition.state.checkpoint = elsewhere
    const records = [0, 1, 2].map((offset): LogRecord => ({ offset: offsetOf(offset), parked: 1 }))
    const next = { offset: offsetOf(2), eventId: '' } as const
    expect(await applyInChunks(partition.apply, START, records, next, 1)).toBe(elsewhere)
    expect(partition.state.parked.size).toBe(0)
  })

  it('fail as a whole when one chunk fails, and none after it is taken', async () => {
    const records = [0, 1, 2, 3].map((offset): LogRecord => ({ offset: offsetOf(offset), parked: 1 }))
    const next = { offset: offsetOf(3), eventId: '' } as const
    const partition = createPartition((call) => call === 1)
    await expect(applyInChunks(partition.apply, START, records, next, 1)).rejects.toThrow('lost')
    expect([...partition.state.parked.keys()]).toEqual([0])
    // Asked again from the same place, it is told where the partition stands, and goes on from there.
    const reached = await applyInChunks(partition.apply, START, records, next, 1)
    expect(reached.offset).toBe(0)
    expect(await applyInChunks(partition.apply, reached, records.slice(1), next, 1)).toBe(next)
    expect([...partition.state.parked.keys()]).toEqual([0, 1, 2, 3])
  })
})
