import { type RawRecord, storedRecordOf } from '@plant-store/shared/event-log/raw-record.ts'
import { readRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Offset, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newEvent } from '../../../tests/support/new-events.ts'
import { targetOf } from './repartition.ts'

/** A record in the partition of its key, or in any other. */
const placed = fc.record({
  key: fc.constantFrom('-1', '0', '1', '2', '3', 'no id', null).map((text) => text && Buffer.from(text)),
  isForeign: fc.boolean(),
  elsewhere: fc.option(fc.nat()),
})

/** The first claim of each id, by event id. */
function winnersOf(records: readonly { partition: Partition; record: RawRecord }[], partitions: number) {
  const winners = new Map<bigint, string>()
  for (const { partition, record } of records) {
    const { claim } = readRecord(storedRecordOf(record), partition, partitions)
    if (claim !== undefined && !winners.has(claim.id)) winners.set(claim.id, claim.eventId)
  }
  return winners
}

it('the same claims are the first ones in any number of partitions', () => {
  const counts = fc.integer({ min: 1, max: 30 })
  fc.assert(
    fc.property(fc.array(placed, { maxLength: 30 }), counts, counts, (all, before, after) => {
      const log = all.map(({ key, isForeign, elsewhere }, n) => {
        const { headers, value } = newEvent(1n, 1)
        const names = Object.keys(headers).filter((name) => !isForeign || name !== 'ce_type')
        const record: RawRecord = {
          ...{ offset: n as Offset, timestamp: String(n), key, value },
          headers: names.map((name) => [Buffer.from(name), headers[name] as Buffer]),
        }
        const own = key === null ? 0 : partitionOf(key, before)
        return { record, partition: ((elsewhere ?? own) % before) as Partition }
      })
      try {
        const moved = log.map(({ record, partition }) => ({
          record,
          partition: targetOf(record, partition, before, after),
        }))
        for (const { partition } of moved) expect(allPartitions(after)).toContain(partition)
        expect(winnersOf(moved, after)).toEqual(winnersOf(log, before))
      } catch (error) {
        expect(error).toBeInstanceOf(PreconditionError)
        expect(after).toBe(1)
      }
    }),
    { numRuns: 2_000 },
  )
})
