import { randomUUID } from 'node:crypto'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { FIRST } from '@plant-store/shared/plant/position.ts'
import { emptyPartition } from '@plant-store/shared/protocol/first-wins.ts'
import { expect, it } from 'vitest'
import { newPlant, plantWith } from './support/generated-plants.ts'
import { newEvent } from './support/new-events.ts'
import { createPlantStore } from './support/plant-store.ts'
import { appendTo } from './support/topic.ts'

it('no service starts on a read model that was folded from another log', async () => {
  const store = await createPlantStore()
  const record = newEvent(7n, store.partitions)
  await appendTo(store, [record])
  const eventId = randomUUID() as EventId
  const claim: Claim = { offset: FIRST, id: newPlant(7n).id, eventId, plant: plantWith({ name: 'of another log' }) }
  const next = { offset: FIRST, eventId }
  const before = emptyPartition().checkpoint
  await store.readModel.apply(record.partition, before, next, [{ offset: FIRST, claim }], randomUUID())

  await expect(store.startApi()).rejects.toThrow(/exit code 78.*another log/s)
  await expect(store.startProjector()).rejects.toThrow(/exit code 78.*another log/s)
})
