import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import { MIN_INT64, plantWith } from '../../../tests/support/generated-plants.ts'
import { encodeEntry } from '../plant/entry.ts'
import { eventIdOfBytes } from '../plant/event-id.ts'
import { MAX_TEXT_CODE_POINTS, type PlantId } from '../plant/plant.ts'
import { type LogRecord, PARKED } from '../plant/plant-created.ts'
import { offsetOf } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../protocol/checkpoint.ts'
import { emptyPartition, fold } from '../protocol/first-wins.ts'
import { applyInChunks, packRecords } from './apply.ts'

/** A partition as apply.lua keeps it; `lost` decides which calls are lost. */
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
  it('give the same result as one call, and no chunk exceeds the limit', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.integer({ min: 1, max: 9 }), async (batches, maxRecords) => {
        const [whole, cut] = [createPartition(), createPartition()]
        let from = BEFORE_LOG
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

  it('fail as a whole when one chunk fails, and no later chunk is applied', async () => {
    const records = [0, 1, 2, 3].map((offset): LogRecord => ({ offset: offsetOf(offset), parked: 1 }))
    const next = { offset: offsetOf(3), eventId: '' } as const
    const partition = createPartition((call) => call === 1)
    await expect(applyInChunks(partition.apply, BEFORE_LOG, records, next, 1)).rejects.toThrow('lost')
    expect([...partition.state.parked.keys()]).toEqual([0])
    // A retry from the same checkpoint returns the checkpoint of the partition; the caller continues from there.
    const reached = await applyInChunks(partition.apply, BEFORE_LOG, records, next, 1)
    expect(reached.offset).toBe(0)
    expect(await applyInChunks(partition.apply, reached, records.slice(1), next, 1)).toBe(next)
    expect([...partition.state.parked.keys()]).toEqual([0, 1, 2, 3])
  })
})

/** A record as apply.lua takes it apart. */
function packed({ offset, claim, parked }: LogRecord): Buffer {
  const id = claim === undefined ? '' : String(claim.id)
  const entry = claim === undefined ? Buffer.alloc(0) : encodeEntry(claim)
  const text = parked === undefined ? '' : `${offset}:${parked}`
  const lengths = [id.length, Math.floor(entry.length / 256), entry.length % 256, text.length]
  return Buffer.concat([Buffer.from(lengths), Buffer.from(id), entry, Buffer.from(text)])
}

it('any records are packed one after another, also those with the longest id, entry and parked text', () => {
  const offset = offsetOf(2 ** 48 - 1)
  // Three bytes of UTF-8 for each unit of UTF-16.
  const text = '€'.repeat(MAX_TEXT_CODE_POINTS)
  const plant = plantWith({ name: text, tag: text })
  const claim = { offset, id: MIN_INT64 as PlantId, eventId: eventIdOfBytes(Buffer.alloc(16, 0xff)), plant }
  const longest: LogRecord[] = [
    { offset, claim },
    { offset, claim, parked: PARKED.unreadablePayload },
  ]
  fc.assert(
    fc.property(logs, (batches) => {
      const records = batches.flatMap((batch) => batch.records)
      expect(packRecords(records)).toEqual(Buffer.concat(records.map(packed)))
    }),
    { examples: longest.map((record) => [[{ records: [record], next: BEFORE_LOG }]]) },
  )
})
