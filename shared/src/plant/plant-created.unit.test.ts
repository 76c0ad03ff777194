import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventIds, newPlant, newPlants, plantIds } from '../../../tests/support/generated-plants.ts'
import type { EventId } from './event-id.ts'
import { PLANT_EXAMPLES, type PlantId, plantOf, textsOf as textsOfPlant } from './plant.ts'
import { eventHeaders, PARKED, plantCreated, readRecord, type Traceparent } from './plant-created.ts'
import type { Offset, Partition } from './position.ts'

const PARTITIONS = 12
const OFFSET = 7 as Offset
const EVENT_ID = '0b5a1ae2-7d4b-4e6f-8a3c-1f2e3d4c5b6a' as EventId

describe('an event that creates a plant', () => {
  it('reads as it was written, for any plant, with and without the time and the trace, which are two more headers', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' as Traceparent
    // Events of the same time follow each other.
    const times = fc.oneof(fc.nat(1), fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }))
    fc.assert(
      fc.property(
        newPlants,
        eventIds,
        fc.integer({ min: 1, max: 100 }),
        times,
        (plant, eventId, partitions, timeMs) => {
          const bare = plantCreated(plant, eventId, partitions)
          const more = plantCreated(plant, eventId, partitions, { timeMs, traceparent })
          const ce_time = Buffer.from(new Date(timeMs).toISOString())
          const headers = { ...bare.headers, ce_time, traceparent: Buffer.from(traceparent) }
          expect(more).toEqual({ ...bare, headers })
          for (const { partition, ...record } of [bare, more])
            expect(readRecord({ offset: OFFSET, ...record }, partition, partitions)).toEqual({
              offset: OFFSET,
              claim: { offset: OFFSET, id: plant.id, eventId, plant: plantOf(plant) },
            })
        },
      ),
    )
  })

  it('is a CloudEvent 1.0 in binary mode, with the source of its store, and its payload has the id as a text', () => {
    const plant = { id: -7n as PlantId, ...PLANT_EXAMPLES.bare }
    const sharedHeaders = eventHeaders('https://plants.example/eu')
    const { headers, value } = plantCreated(plant, EVENT_ID, PARTITIONS, { sharedHeaders, timeMs: 1_795_281_883_402 })
    expect(textsOf(headers)).toEqual({
      ce_specversion: '1.0',
      ce_source: 'https://plants.example/eu',
      ce_type: 'PlantCreated',
      ce_id: EVENT_ID,
      ce_time: '2026-11-21T17:24:43.402Z',
      'content-type': 'application/json; version=1',
    })
    expect(value.toString()).toBe(JSON.stringify({ id: '-7', ...textsOfPlant(PLANT_EXAMPLES.bare) }))
    expect(textsOf(plantCreated(plant, EVENT_ID, PARTITIONS).headers).ce_source).toBe('/plants')
  })
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
const headerValue = fc.oneof(
  bytes,
  fc.array(
    fc.string().map((text) => Buffer.from(text)),
    { maxLength: 2 },
  ),
)

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

function textsOf(headers: Record<string, Buffer>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, bytes]) => [name, bytes.toString()]))
}
