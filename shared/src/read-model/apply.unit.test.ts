import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import { MIN_INT64, newPlant, plantWith } from '../../../tests/support/generated-plants.ts'
import { decodeEntry, encodeEntry } from '../plant/entry.ts'
import type { EventId } from '../plant/event-id.ts'
import { MAX_TEXT_CODE_POINTS, type PlantId, parsePlantId } from '../plant/plant.ts'
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

const EVENT_ID = '0b5a1ae2-7d4b-4e6f-8a3c-1f2e3d4c5b6a' as EventId
const MAX_OFFSET = offsetOf(2 ** 48 - 1)

function withoutOffset({ claim, parked }: LogRecord): Omit<LogRecord, 'offset'> {
  return { ...(claim !== undefined && { claim }), ...(parked !== undefined && { parked }) }
}

/** As apply.lua takes them apart. */
function unpack(packed: Buffer): Omit<LogRecord, 'offset'>[] {
  const records: Omit<LogRecord, 'offset'>[] = []
  for (let at = 0; at < packed.length; ) {
    const entryAt = at + 4 + packed.readUInt8(at)
    const parkedAt = entryAt + packed.readUInt16BE(at + 1)
    const end = parkedAt + packed.readUInt8(at + 3)
    const id = parsePlantId(packed.toString('latin1', at + 4, entryAt))
    const parked = packed.toString('latin1', parkedAt, end)
    records.push({
      ...(id !== undefined && { claim: decodeEntry(id, packed.subarray(entryAt, parkedAt)) }),
      ...(parked !== '' && { parked: Number(parked.split(':')[1]) as LogRecord['parked'] & number }),
    })
    at = end
  }
  return records
}

describe('packed records', () => {
  it('unpack to the same records', () => {
    fc.assert(
      fc.property(logs, (batches) => {
        const records = batches.flatMap((batch) => batch.records)
        const expected = records.map(withoutOffset)
        expect(unpack(packRecords(records))).toEqual(expected)
      }),
    )
  })

  it('have room for the longest id, entry and parked text', () => {
    // Three bytes of UTF-8 for each unit of UTF-16.
    const text = '€'.repeat(MAX_TEXT_CODE_POINTS)
    const id = MIN_INT64 as PlantId
    const claim = { offset: MAX_OFFSET, id, eventId: EVENT_ID, plant: plantWith({ name: text, tag: text }) }
    const records: LogRecord[] = [
      { offset: MAX_OFFSET, claim },
      { offset: MAX_OFFSET, claim, parked: PARKED.unreadablePayload },
    ]
    for (const record of records) expect(unpack(packRecords([record]))).toEqual([withoutOffset(record)])
    expect(unpack(packRecords(records))).toEqual(records.map(withoutOffset))
  })

  it('of fixed bytes: a claim, a foreign record, and a claim that cannot be read', () => {
    const head = `${EVENT_ID.replaceAll('-', '')}00000000002a`
    const offset = offsetOf(42)
    const claim = { offset, id: -7n as PlantId, eventId: EVENT_ID }
    const created = { ...claim, plant: newPlant(-7n) }
    const entry = encodeEntry(created).toString('hex')
    const length = Buffer.from([entry.length / 2]).toString('hex')
    const records: LogRecord[] = [
      { offset, claim: created },
      { offset, parked: PARKED.badKey },
      {
        offset,
        claim: { ...claim, id: MIN_INT64 as PlantId, plant: undefined },
        parked: PARKED.unknownVersion,
      },
    ]
    const hexOf = (text: string) => Buffer.from(text).toString('hex')
    expect(packRecords(records).toString('hex')).toBe(
      [
        `0200${length}00${hexOf('-7')}${entry}`,
        `00000004${hexOf('42:2')}`,
        `14001704${hexOf('-9223372036854775808')}00${head}${hexOf('42:5')}`,
      ].join(''),
    )
  })
})
