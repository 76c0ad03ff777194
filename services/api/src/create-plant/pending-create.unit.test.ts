import { randomUUID } from 'node:crypto'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { plantOf } from '@plant-store/shared/plant/plant.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, FIRST } from '@plant-store/shared/plant/position.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newPlant } from '../../../../tests/support/generated-plants.ts'
import { PendingCreate } from './pending-create.ts'

const EMPTY_WINDOW = { start: FIRST, next: FIRST, firstClaim: () => undefined }
const stoppedTime = { now: () => 0, after: () => () => {} }

/** A create whose id is absent, so that it is sent to Kafka. */
function appendedCreate(): PendingCreate {
  const plant = newPlant(1n)
  const eventId = randomUUID() as EventId
  const context = { time: stoppedTime, onResolved() {} }
  const claim = { id: plant.id, eventId, plant: plantOf(plant) }
  const pending = new PendingCreate(claim, plantCreated(plant, eventId, 1), 1_000, context)
  pending.lookedUp(undefined, BEFORE_FIRST, EMPTY_WINDOW, 0)
  return pending
}

it('a create is "not written" only if Kafka refused its first attempt', async () => {
  const attempts = fc.array(fc.constantFrom<'refused' | 'failed'>('refused', 'failed'))
  await fc.assert(
    fc.asyncProperty(attempts, async (ends) => {
      const pending = appendedCreate()
      for (const end of ends) {
        if (end === 'refused') pending.appendRefused(new Error('refused'))
        else pending.appendFailed()
      }
      pending.deadlinePassed()
      const { is } = await pending.resolution
      expect(is).toBe(ends[0] === 'refused' ? 'notWritten' : 'outcomeUnknown')
    }),
  )
})
