import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { formatPlant, plantJson } from './plant-as-of.ts'

it('shows a plant whose record has an invalid timestamp, such as one in nanoseconds', () => {
  const id = 7n as PlantId
  const claim = { id, offset: 3 as Offset, eventId: 'some' as EventId, plant: { name: 'fern' } }
  const found = { id, partition: 2 as Partition, upTo: 9, first: { claim, timestampMs: 1.7e18 } }
  expect(plantJson(found)).toMatchObject({
    id: '7',
    state: 'created',
    at: '1700000000000000000',
    name: 'fern',
  })
  expect(formatPlant(found)).toMatch(/created at 2-3, 1700000000000000000, by event some/)
})
