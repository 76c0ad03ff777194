import fc from 'fast-check'
import { expect, it } from 'vitest'
import { eventIds, newPlant, newPlants, plantIds } from '../../../tests/support/generated-plants.ts'
import { plantOf } from './plant.ts'
import { PARKED, plantCreated, readRecord, type Traceparent } from './plant-created.ts'
import type { Offset, Partition } from './position.ts'

const PARTITIONS = 12
const OFFSET = 7 as Offset

// tests/event-contract.unit shows that it is written as the documents say.
it('an event reads as it was written, with and without the time and the trace, which are two more headers', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' as Traceparent
  // Events of the same time follow each other.
  const times = fc.oneof(fc.nat(1), fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }))
  const counts = fc.integer({ min: 1, max: 100 })
  fc.assert(
    fc.property(newPlants, eventIds, counts, times, (plant, eventId, partitions, timeMs) => {
      const bare = plantCreated(plant, eventId, partitions)
      const more = plantCreated(plant, eventId, partitions, { timeMs, traceparent })
      const ce_time = Buffer.from(new Date(timeMs).toISOString())
      const headers = { ...bare.headers, ce_time, traceparent: Buffer.from(traceparent) }
      expect(more).toEqual({ ...bare, headers })
      const claim = { offset: OFFSET, id: plant.id, eventId, plant: plantOf(plant) }
      for (const { partition, ...record } of [bare, more])
        expect(readRecord({ offset: OFFSET, ...record }, partition, partitions)).toEqual({ offset: OFFSET, claim })
    }),
  )
})

// The corpus has a record for each other reason to park one, and for all that a payload may contain.
it('a record in another partition than its key is parked and does not claim an id', () => {
  fc.assert(
    fc.property(plantIds, eventIds, fc.nat(PARTITIONS - 1), (id, eventId, elsewhere) => {
      const { partition, ...record } = plantCreated(newPlant(id, { name: 'n' }), eventId, PARTITIONS)
      fc.pre(elsewhere !== partition)
      const found = readRecord({ offset: OFFSET, ...record }, elsewhere as Partition, PARTITIONS)
      expect(found).toEqual({ offset: OFFSET, parked: PARKED.wrongPartition })
    }),
  )
})

const bytes = fc.option(fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)))
const headerValue = fc.oneof(bytes, fc.array(fc.string().map(Buffer.from), { maxLength: 2 }))

it('the claim of any record never depends on the payload or the version', () => {
  fc.assert(
    fc.property(newPlants, eventIds, bytes, headerValue, (plant, eventId, value, version) => {
      const { partition, ...record } = plantCreated(plant, eventId, PARTITIONS)
      const headers = { ...record.headers, 'content-type': version }
      for (const changed of [{ value }, { headers }, { value, headers }]) {
        const { claim } = readRecord({ offset: OFFSET, ...record, ...changed }, partition, PARTITIONS)
        expect(claim).toMatchObject({ offset: OFFSET, id: plant.id, eventId })
      }
    }),
  )
})
