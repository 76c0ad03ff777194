import { type EventId, eventIdOfBytes, writeEventId } from '../../plant/event-id.ts'
import type { PlantId } from '../../plant/plant.ts'
import type { Offset } from '../../plant/position.ts'
import { createOpenHashTable } from '../../protocol/open-hash-table.ts'
import { PreconditionError } from '../../runtime/failures.ts'

const CHUNK_CLAIMS = 4_096
const FIRST_SLOTS = 4_096
const LOAD_MAX = 0.75
const EVENT_ID_BYTES = 16
const OFFSET_BYTES = 8
const MIB = 1_048_576

/**
 * Reserves memory up to a limit, which the tables of one consumer share; a negative number of bytes is free again.
 * Reserving more throws a PreconditionError that names the alternative.
 */
export type Reserve = (bytes: number) => void

export function memoryOf(maxMib: number, otherwise: string): Reserve {
  let reserved = 0
  return (bytes) => {
    if (reserved + bytes > maxMib * MIB) {
      throw new PreconditionError(`the first claims of all plants take more memory than ${maxMib} MiB: ${otherwise}`)
    }
    reserved += bytes
  }
}

/** Offsets and event ids of claims, in the order of their numbers. */
type Chunk = { offsets: Float64Array; eventIds: Uint8Array }

export type ClaimTable = ReturnType<typeof createClaimTable>

/**
 * The first claims of the ids of one partition, in 21 to 27 bytes per id, plus 16 with their event ids. Throws the
 * PreconditionError of `reserve` when its limit is reached; the claims in the table stay as they were.
 */
export function createClaimTable({ reserve, eventIds }: { reserve: Reserve; eventIds: boolean }) {
  const chunkBytes = CHUNK_CLAIMS * (OFFSET_BYTES + (eventIds ? EVENT_ID_BYTES : 0))
  const chunks: Chunk[] = []
  const ids = createOpenHashTable({ chunkKeys: CHUNK_CLAIMS, firstSlots: FIRST_SLOTS, loadMax: LOAD_MAX, reserve })

  const chunkOf = (number: number) => chunks[Math.floor(number / CHUNK_CLAIMS)] as Chunk
  const offsetAt = (number: number) => chunkOf(number).offsets[number % CHUNK_CLAIMS] as Offset

  return {
    /** The offset of the first claim of an id, if there is one. */
    offsetOf(id: PlantId): Offset | undefined {
      const number = ids.numberOf(id)
      return number < 0 ? undefined : offsetAt(number)
    },

    /** The event id of the first claim of an id, if there is one and the table stores event ids. */
    eventIdOf(id: PlantId): EventId | undefined {
      const number = ids.numberOf(id)
      if (number < 0 || !eventIds) return undefined
      const at = (number % CHUNK_CLAIMS) * EVENT_ID_BYTES
      return eventIdOfBytes(Buffer.from(chunkOf(number).eventIds.subarray(at, at + EVENT_ID_BYTES)))
    },

    /** Adds a claim unless its id has one. Returns the offset of the first claim of the id. */
    add({ id, offset, eventId }: { id: PlantId; offset: Offset; eventId: EventId }): Offset {
      const count = ids.size()
      if (count === chunks.length * CHUNK_CLAIMS) {
        reserve(chunkBytes)
        chunks.push({
          offsets: new Float64Array(CHUNK_CLAIMS),
          eventIds: new Uint8Array(eventIds ? CHUNK_CLAIMS * EVENT_ID_BYTES : 0),
        })
      }
      const number = ids.add(id)
      if (number < count) return offsetAt(number)
      const chunk = chunkOf(number)
      const at = number % CHUNK_CLAIMS
      chunk.offsets[at] = offset
      if (eventIds) writeEventId(eventId, chunk.eventIds, at * EVENT_ID_BYTES)
      return offset
    },
  }
}
