import { type EventId, eventIdOfBytes, writeEventId } from '../../plant/event-id.ts'
import type { PlantId } from '../../plant/plant.ts'
import type { Offset } from '../../plant/position.ts'
import { PreconditionError } from '../../runtime/failures.ts'

// Claims lie one after the other in chunks, in the order they came, and are never moved. A hash table with open
// addressing holds their numbers, so what grows and is left half empty has 4 bytes a place.
const CHUNK_CLAIMS = 4_096
const FIRST_PLACES = 4_096
const MAX_FILLED = 0.75
const EVENT_ID_BYTES = 16
const CLAIM_BYTES = 16
const PLACE_BYTES = 4
const MIB = 1_048_576

/** Memory that the tables of one consumer share. */
export type Memory = { reserve(bytes: number): void; release(bytes: number): void }

/** Memory up to a limit; who reserves more gets a PreconditionError, which says what else there is. */
export function memoryOf(maxMib: number, otherwise: string): Memory {
  let reserved = 0
  return {
    reserve(bytes) {
      if (reserved + bytes > maxMib * MIB) {
        throw new PreconditionError(
          `the first claims of all plants take more memory than ${maxMib} MiB: ${otherwise}`,
        )
      }
      reserved += bytes
    },
    release(bytes) {
      reserved -= bytes
    },
  }
}

type Chunk = { ids: BigInt64Array; halves: Int32Array; offsets: Float64Array; eventIds: Uint8Array }

export type ClaimTable = ReturnType<typeof createClaimTable>

/**
 * The first claims of the ids of one partition, in 21 to 27 bytes an id; with their event ids 16 more. Throws the
 * PreconditionError of `memory` when there is no more of it; the table is then as it was before.
 */
export function createClaimTable({ memory, eventIds }: { memory: Memory; eventIds: boolean }) {
  const chunkBytes = CHUNK_CLAIMS * (CLAIM_BYTES + (eventIds ? EVENT_ID_BYTES : 0))
  const chunks: Chunk[] = []
  let places = new Int32Array(0)
  let count = 0
  /** An id as two halves: they compare without a BigInt being made of what is stored. */
  const asked = new BigInt64Array(1)
  const halves = new Int32Array(asked.buffer)

  const chunkOf = (claim: number) => chunks[Math.floor(claim / CHUNK_CLAIMS)] as Chunk

  /** The place that has this id, or the free one where it belongs. */
  function placeOf(low: number, high: number): number {
    const last = places.length - 1
    let place = hash(low, high) & last
    for (let number = places[place] as number; number !== 0; number = places[place] as number) {
      const at = ((number - 1) % CHUNK_CLAIMS) * 2
      const { halves: kept } = chunkOf(number - 1)
      if (kept[at] === low && kept[at + 1] === high) return place
      place = (place + 1) & last
    }
    return place
  }

  function numberOf(id: PlantId): number {
    if (places.length === 0) return 0
    asked[0] = id
    return places[placeOf(halves[0] as number, halves[1] as number)] as number
  }

  /** Makes room for one more. */
  function grow(): void {
    if (count === chunks.length * CHUNK_CLAIMS) {
      memory.reserve(chunkBytes)
      const ids = new BigInt64Array(CHUNK_CLAIMS)
      chunks.push({
        ...{ ids, halves: new Int32Array(ids.buffer), offsets: new Float64Array(CHUNK_CLAIMS) },
        eventIds: new Uint8Array(eventIds ? CHUNK_CLAIMS * EVENT_ID_BYTES : 0),
      })
    }
    if (count < places.length * MAX_FILLED) return
    const before = places.length
    const length = before === 0 ? FIRST_PLACES : before * 2
    memory.reserve(length * PLACE_BYTES)
    places = new Int32Array(length)
    for (let claim = 0; claim < count; claim++) {
      const at = (claim % CHUNK_CLAIMS) * 2
      const { halves: kept } = chunkOf(claim)
      places[placeOf(kept[at] as number, kept[at + 1] as number)] = claim + 1
    }
    memory.release(before * PLACE_BYTES)
  }

  return {
    /** Where the first claim of an id lies, if it has one. */
    offsetOf(id: PlantId): Offset | undefined {
      const number = numberOf(id)
      if (number === 0) return undefined
      return chunkOf(number - 1).offsets[(number - 1) % CHUNK_CLAIMS] as Offset
    },

    /** The event id of the first claim of an id, if it has one and the table keeps them. */
    eventIdOf(id: PlantId): EventId | undefined {
      const number = numberOf(id)
      if (number === 0 || !eventIds) return undefined
      const at = ((number - 1) % CHUNK_CLAIMS) * EVENT_ID_BYTES
      return eventIdOfBytes(Buffer.from(chunkOf(number - 1).eventIds.subarray(at, at + EVENT_ID_BYTES)))
    },

    /** Takes in a claim, unless its id has one already. Tells where the first one lies. */
    add({ id, offset, eventId }: { id: PlantId; offset: Offset; eventId: EventId }): Offset {
      grow()
      asked[0] = id
      const place = placeOf(halves[0] as number, halves[1] as number)
      const number = places[place] as number
      if (number !== 0) return chunkOf(number - 1).offsets[(number - 1) % CHUNK_CLAIMS] as Offset
      const chunk = chunkOf(count)
      const at = count % CHUNK_CLAIMS
      chunk.ids[at] = id
      chunk.offsets[at] = offset
      if (eventIds) writeEventId(eventId, chunk.eventIds, at * EVENT_ID_BYTES)
      places[place] = ++count
      return offset
    },

    size: (): number => count,
  }
}

/** Ids are often given in sequence: each bit of both halves counts for the low bits, which choose the place. */
function hash(low: number, high: number): number {
  let mixed = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35)
  return mixed ^ (mixed >>> 13)
}
