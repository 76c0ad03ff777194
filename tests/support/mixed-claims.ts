import { randomInt } from 'node:crypto'
import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { newEvent } from './new-events.ts'

/** Claims of new ids, with repeated and void claims among them. */
export function createMixedClaims(partitions: number) {
  const written: NewRecord[] = []
  let lastId = 0

  function next(): NewRecord {
    const kind = written.length === 0 ? 0 : randomInt(4)
    if (kind === 1) return written[randomInt(written.length)] as NewRecord
    const id = kind === 2 ? randomInt(1, lastId + 1) : ++lastId
    return newEvent(BigInt(id), partitions)
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
