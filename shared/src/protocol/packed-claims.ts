import { decodeEntry, maxEntryBytes, offsetOfEntry, writeEntry } from '../plant/entry.ts'
import type { PlantId } from '../plant/plant.ts'
import type { Claim } from '../plant/plant-created.ts'
import type { Offset } from '../plant/position.ts'
import { createOpenHashTable } from './open-hash-table.ts'

/** Plants that are read back and compared at once; a power of two. */
export const PLANTS_PER_SPAN = 512
/** Most memory of one claim besides its entry, measured: id, slots of the hash table, and its part of small spans. */
export const CLAIM_OVERHEAD_BYTES = 40
/** The room for entries starts with this for each plant of a span, and is doubled when it is too small. */
const FIRST_ENTRY_BYTES = 64
const LOAD_MAX = 0.5
const NOTHING = Buffer.alloc(0)

/**
 * Consecutive plants in log order: the ids in decimal, separated by commas; the length of each entry in two bytes,
 * big-endian; the entries one after another. For a given number of plants, equal spans have equal ids and entries.
 */
export type PackedSpan = { ids: Buffer; lengths: Buffer; entries: Buffer }
const NO_PLANTS: PackedSpan = { ids: NOTHING, lengths: NOTHING, entries: NOTHING }

/** The entries of consecutive plants in log order. */
type Span = {
  /** The end of each entry in `entries`. */
  ends: Uint32Array
  /** In the last span, the buffer that is written to: it may be longer than the entries. */
  entries: Buffer
}

type PackedClaimsOptions = { plantsPerSpan?: number | undefined; seed?: number }
export type PackedClaims = ReturnType<typeof createPackedClaims>

/**
 * The first claim of each id in log order, like a Map, but as the bytes of its entry: about 80 bytes per plant. A Map
 * of claims takes 250, and the garbage collector visits all of them again and again. Claims are numbered from 0.
 */
export function createPackedClaims({ plantsPerSpan = PLANTS_PER_SPAN, seed }: PackedClaimsOptions = {}) {
  const spanBits = Math.log2(plantsPerSpan)
  const inSpan = plantsPerSpan - 1
  const spans: Span[] = []
  const ids = createOpenHashTable({
    chunkKeys: plantsPerSpan,
    firstSlots: 2 * plantsPerSpan,
    loadMax: LOAD_MAX,
    ...(seed !== undefined && { seed }),
  })
  /** The entries of the last span are written here. */
  let buffer = NOTHING

  function spanOf(number: number): Span {
    return spans[number >> spanBits] as Span
  }

  function startOf({ ends }: Span, at: number): number {
    return at === 0 ? 0 : (ends[at - 1] as number)
  }

  function startSpan(): Span {
    const last = spans.at(-1)
    if (last !== undefined) last.entries = Buffer.from(buffer.subarray(0, last.ends[inSpan]))
    const span = { ends: new Uint32Array(plantsPerSpan), entries: buffer }
    spans.push(span)
    return span
  }

  function makeRoom(span: Span, used: number, more: number): void {
    if (used + more <= buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, used + more, plantsPerSpan * FIRST_ENTRY_BYTES))
    buffer.copy(larger, 0, 0, used)
    buffer = larger
    span.entries = buffer
  }

  function claimAt(number: number): Claim {
    const [span, at] = [spanOf(number), number & inSpan]
    const id = ids.chunk(number >> spanBits)[at] as PlantId
    return decodeEntry(id, span.entries.subarray(startOf(span, at), span.ends[at]))
  }

  return {
    get size(): number {
      return ids.size()
    },

    /** The number of the claim of an id, or -1. */
    numberOf: ids.numberOf,
    claimAt,

    offsetAt(number: number): Offset {
      const span = spanOf(number)
      return offsetOfEntry(span.entries, startOf(span, number & inSpan))
    },

    bytesAt(number: number): number {
      const [span, at] = [spanOf(number), number & inSpan]
      return (span.ends[at] as number) - startOf(span, at)
    },

    get(id: PlantId): Claim | undefined {
      const number = ids.numberOf(id)
      return number < 0 ? undefined : claimAt(number)
    },

    /** Adds the claim of a new id. */
    set(id: PlantId, claim: Claim): void {
      const number = ids.add(id)
      const at = number & inSpan
      const span = at === 0 ? startSpan() : spanOf(number)
      const start = startOf(span, at)
      makeRoom(span, start, maxEntryBytes(claim))
      span.ends[at] = writeEntry(claim, buffer, start)
    },

    clear(): void {
      spans.length = 0
      ids.clear()
    },

    *[Symbol.iterator](): Generator<[PlantId, Claim]> {
      for (let number = 0; number < ids.size(); number++) {
        const claim = claimAt(number)
        yield [claim.id, claim]
      }
    },

    /**
     * The content that a generation must have of the plants from a multiple of `plantsPerSpan` on, before `end` and at
     * most one span. Use it at once: adding plants may overwrite it.
     */
    span(from: number, end: number): PackedSpan {
      if (from >= end) return NO_PLANTS
      const span = spanOf(from)
      const count = Math.min(end - from, plantsPerSpan)
      const lengths = Buffer.allocUnsafe(2 * count)
      for (let at = 0; at < count; at++) lengths.writeUInt16BE((span.ends[at] as number) - startOf(span, at), 2 * at)
      const packedIds = ids
        .chunk(from >> spanBits)
        .subarray(0, count)
        .join()
      return {
        ids: Buffer.from(packedIds, 'latin1'),
        lengths,
        entries: span.entries.subarray(0, startOf(span, count)),
      }
    },

    plantsPerSpan,
  }
}
