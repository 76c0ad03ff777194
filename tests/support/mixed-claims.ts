import { randomInt, randomUUID } from 'node:crypto'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { newPlant } from './generated-plants.ts'

/** Claims of new ids, with repeated and void claims among them. */
export function createMixedClaims(partitions: number) {
  const written: NewRecord[] = []
  let lastId = 0

  function next(): NewRecord {
    const kind = written.length === 0 ? 0 : randomInt(4)
    if (kind === 1) return written[randomInt(written.length)] as NewRecord
    const id = kind === 2 ? randomInt(1, lastId + 1) : ++lastId
    return plantCreated(newPlant(BigInt(id)), randomUUID() as EventId, partitions)
  }

  return {
    take(count: number): NewRecord[] {
      return Array.from({ length: count }, () => {
        const record = next()
        written.push(record)
        return record
      })
    },
  }
}
