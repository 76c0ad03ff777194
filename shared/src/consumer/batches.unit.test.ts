import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventIds, newPlants } from '../../../tests/support/generated-plants.ts'
import { plantCreated } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import { batchesOf } from './batches.ts'
import { type PlantRecord, plantRecordReader } from './plant-record.ts'

const PARTITION = 0 as Partition
const read = plantRecordReader(1)

/** Records in log order with gaps between their offsets, some of them foreign, some unreadable, some no creations. */
const logs = fc
  .array(
    fc.record({
      plant: newPlants,
      eventId: eventIds,
      gap: fc.integer({ min: 0, max: 3 }),
      is: fc.constantFrom('creation', 'void', 'foreign', 'unreadable', 'unreadable creation'),
    }),
    { maxLength: 40 },
  )
  .map((delivered) => {
    let offset = -1
    return delivered.map(({ plant, eventId, gap, is }) => {
      offset += 1 + gap
      const { key, value, headers } = plantCreated(plant, eventId, 1)
      const stored = {
        ...{ offset: offset as Offset, key, timestampMs: offset },
        value: is.startsWith('unreadable') ? Buffer.from('{') : value,
        headers: is === 'foreign' ? {} : headers,
      }
      return { record: read(stored, PARTITION), isCreation: is.endsWith('creation') }
    })
  })

describe('batches', () => {
  it('contain each readable creation, and each wanted parked record, once and in log order', () => {
    fc.assert(
      fc.property(logs, fc.integer({ min: 1, max: 5 }), fc.boolean(), (log, maxEvents, deliverParked) => {
        const creations = new Set(log.filter(({ isCreation }) => isCreation).map(({ record }) => record))
        const records: PlantRecord[] = log.map(({ record }) => record)
        const isCreation = (record: PlantRecord) => creations.has(record)
        const batches = [...batchesOf(records, PARTITION, isCreation, { maxEvents, deliverParked })]
        const delivered = batches.flatMap(({ events, parked }) => [
          ...events,
          ...(parked === undefined ? [] : [parked]),
        ])
        const wanted = records.filter((record) => (record.parked !== undefined ? deliverParked : isCreation(record)))
        expect(delivered.map(({ offset }) => offset)).toEqual(wanted.map(({ offset }) => offset))
        for (const { events, parked, checkpoint } of batches) {
          expect(events.length).toBeLessThanOrEqual(maxEvents)
          expect(events.length > 0).toBe(parked === undefined)
          // Records after the batch were not delivered yet.
          const last = parked ?? events.at(-1)
          expect(checkpoint).toEqual({ offset: last?.offset, eventId: last?.eventId ?? '' })
        }
      }),
    )
  })

  it('are full, except the last one', () => {
    fc.assert(
      fc.property(logs, fc.integer({ min: 1, max: 5 }), (log, maxEvents) => {
        const records = log.map(({ record }) => record)
        const batches = [...batchesOf(records, PARTITION, () => true, { maxEvents, deliverParked: false })]
        expect(batches.slice(0, -1).every(({ events }) => events.length === maxEvents)).toBe(true)
      }),
    )
  })
})
