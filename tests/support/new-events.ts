import { randomUUID } from 'node:crypto'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { newPlant } from './generated-plants.ts'

export const newEventId = () => randomUUID() as EventId

/** A new event of a plant where only its id matters. */
export const newEvent = (id: bigint, partitions: number): NewRecord =>
  plantCreated(newPlant(id), newEventId(), partitions)

/** `count` events of `ids` ids, and some more: void ones, repeated, unreadable and foreign ones. */
export function mixedEvents(count: number, ids: number, partitions: number): NewRecord[] {
  return Array.from({ length: count }, (_, n) => newEvent(BigInt(n % ids), partitions)).flatMap((event, n) => {
    if (n % 7 === 0) return [event, event]
    if (n % 11 === 0) return [{ ...event, value: Buffer.from('{') }]
    if (n % 13 === 0) return [{ ...event, headers: {} }]
    return [event]
  })
}
