import { randomInt } from 'node:crypto'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { decodeEntry, maxEntryBytes, writeEntry } from '@plant-store/shared/read-model/entry.ts'
import type { PackedSpan } from '@plant-store/shared/read-model/generations.ts'

/** So many plants are read back and compared at once; a power of two. */
export const PLANTS_PER_SPAN = 512
const FIRST_ROOM_BYTES = 65_536
const FIRST_SLOTS = 1_024
const SEEDS = 2 ** 32
const NOTHING = Buffer.alloc(0)
const NO_PLANTS: PackedSpan = { ids: NOTHING, lengths: NOTHING, entries: NOTHING }

/** Some plants in log order. */
type Span = {
  ids: BigInt64Array
  /** Each id again, as two halves: a bigint would be made for each that is only compared. */
  halves: Int32Array
  /** Where each entry ends in `entries`. */
  ends: Uint32Array
  /** Of the last span there may be more behind the last entry. */
  entries: Buffer
}

export type FoldedPlants = ReturnType<typeof createFoldedPlants>

/**
 * The first claim of each id, in log order, as a Map would hold them, but each as the bytes of its entry: about 80 bytes
 * a plant, where a Map of claims takes 250 and has the garbage collector go through all of them again and again.
 */
export function createFoldedPlants({ plantsPerSpan = PLANTS_PER_SPAN, seed = randomInt(SEEDS) } = {}) {
  const spanBits = Math.log2(plantsPerSpan)
  const inSpan = plantsPerSpan - 1
  const spans: Span[] = []
  let size = 0
  /** The number of a plant and one, where the hash of its id or the next free place says; 0 is free. */
  let slots = new Int32Array(FIRST_SLOTS)
  /** Where the entries of the last span are written. */
  let room = Buffer.allocUnsafe(FIRST_ROOM_BYTES)
  const wanted = new BigInt64Array(1)
  const [low, high] = [0, 1]
  const halves = new Int32Array(wanted.buffer)

  /** Mixed with a seed of this process's own: ids are chosen by clients. */
  function hash(a: number, b: number): number {
    let mixed = Math.imul(a ^ seed, 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 15) ^ b, 0xc2b2ae35)
    mixed = Math.imul(mixed ^ (mixed >>> 13) ^ seed, 0x27d4eb2f)
    return (mixed ^ (mixed >>> 16)) >>> 0
  }

  /** The slot of the id in `wanted`: where it is, or where it would be. */
  function slotOf(): number {
    const [a, b] = [halves[low] as number, halves[high] as number]
    const mask = slots.length - 1
    for (let slot = hash(a, b) & mask; ; slot = (slot + 1) & mask) {
      const number = (slots[slot] as number) - 1
      if (number < 0) return slot
      const known = spanOf(number).halves
      const at = (number & inSpan) * 2
      if (known[at] === a && known[at + 1] === b) return slot
    }
  }

  function growSlots(): void {
    slots = new Int32Array(slots.length * 2)
    for (let number = 0; number < size; number++) {
      wanted[0] = spanOf(number).ids[number & inSpan] as bigint
      slots[slotOf()] = number + 1
    }
  }

  function spanOf(number: number): Span {
    return spans[number >> spanBits] as Span
  }

  /** Where an entry of a span begins. */
  function beginOf({ ends }: Span, at: number): number {
    return at === 0 ? 0 : (ends[at - 1] as number)
  }

  function beginSpan(): Span {
    const last = spans.at(-1)
    if (last !== undefined) last.entries = Buffer.from(room.subarray(0, last.ends[inSpan]))
    const ids = new BigInt64Array(plantsPerSpan)
    const span = {
      ids,
      halves: new Int32Array(ids.buffer),
      ends: new Uint32Array(plantsPerSpan),
      entries: room,
    }
    spans.push(span)
    return span
  }

  function makeRoom(span: Span, used: number, more: number): void {
    if (used + more <= room.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * room.length, used + more))
    room.copy(larger, 0, 0, used)
    room = larger
    span.entries = room
  }

  function claimAt(number: number): Claim {
    const [span, at] = [spanOf(number), number & inSpan]
    return decodeEntry(span.ids[at] as PlantId, span.entries.subarray(beginOf(span, at), span.ends[at]))
  }

  return {
    get size(): number {
      return size
    },

    get(id: PlantId): Claim | undefined {
      wanted[0] = id
      const number = slots[slotOf()] as number
      return number === 0 ? undefined : claimAt(number - 1)
    },

    /** Adds the claim of an id that is not among them. */
    set(id: PlantId, claim: Claim): void {
      if (2 * size >= slots.length) growSlots()
      wanted[0] = id
      slots[slotOf()] = size + 1
      const at = size & inSpan
      const span = at === 0 ? beginSpan() : spanOf(size)
      const begin = beginOf(span, at)
      makeRoom(span, begin, maxEntryBytes(claim))
      span.ids[at] = id
      span.ends[at] = writeEntry(claim, room, begin)
      size++
    },

    clear(): void {
      spans.length = 0
      size = 0
      slots = new Int32Array(FIRST_SLOTS)
    },

    *[Symbol.iterator](): Generator<[PlantId, Claim]> {
      for (let number = 0; number < size; number++) {
        const claim = claimAt(number)
        yield [claim.id, claim]
      }
    },

    /**
     * What a generation has to hold of these: from a multiple of `plantsPerSpan` on, at most so many, and before `end`. To
     * be used at once, since the next plants may be written over it.
     */
    span(from: number, end: number): PackedSpan {
      if (from >= end) return NO_PLANTS
      const span = spanOf(from)
      const count = Math.min(end - from, plantsPerSpan)
      const lengths = Buffer.allocUnsafe(2 * count)
      for (let at = 0; at < count; at++)
        lengths.writeUInt16BE((span.ends[at] as number) - beginOf(span, at), 2 * at)
      const ids = Buffer.from(span.ids.subarray(0, count).join(), 'latin1')
      return { ids, lengths, entries: span.entries.subarray(0, beginOf(span, count)) }
    },

    plantsPerSpan,
  }
}
