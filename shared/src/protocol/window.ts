import type { PlantId } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { after, type Offset } from '../plant/position.ts'
import { CLAIM_OVERHEAD_BYTES, createPackedClaims, type PackedClaims } from './packed-claims.ts'

/** Small, because there are two for each partition, mostly with few claims. */
const CLAIMS_PER_SPAN = 64

/**
 * The newest claims of one partition in the memory of an api: the first claim of each id from offset `start` (T0) up to
 * `next`. A full window drops its oldest claims and moves `start` up. It never refuses a record: a paused tail would
 * never close a coverage gap.
 */
export type Window = ReturnType<typeof createWindow>

export function createWindow(from: Offset, maxBytes: number) {
  const claims = createClaimQueue()
  let start = from
  let next = from

  return {
    /** T0: offsets below are not covered. */
    get start(): Offset {
      return start
    },
    /** Everything from `start` up to this offset is known. */
    get next(): Offset {
      return next
    },

    /** Current size, in claims and in bytes of memory. */
    get size(): { claims: number; bytes: number } {
      return { claims: claims.count(), bytes: claims.bytes() }
    },

    firstClaim: claims.get,

    /** Up to `max` claims after an offset, in log order. */
    claimsAfter: claims.after,

    /** Adds the next record. Returns its claim if it is the first of its id in the window. */
    pass({ offset, claim }: LogRecord): Claim | undefined {
      if (offset < next) throw new RangeError(`offset ${offset} was passed before`)
      next = after(offset)
      if (claim === undefined || claims.has(claim.id)) return undefined
      claims.push(claim)
      while (claims.bytes() > maxBytes) start = after(claims.dropOldest())
      return claim
    },

    /** Moves `next` up to `offset` when only control records, which have no content, are left before it. */
    passTo(offset: Offset): void {
      if (offset > next) next = offset
    },

    /** Drops all claims, and continues at another offset, in either direction: T0 and `next` are there then. */
    continueAt(offset: Offset): void {
      claims.clear()
      start = offset
      next = offset
    },

    /** Drops the claims before `offset`, which the read model has had for a while, and moves T0 up to it. */
    dropBefore(offset: Offset): void {
      const bound = offset < next ? offset : next
      if (bound <= start) return
      while (claims.count() > 0 && claims.oldest() < bound) claims.dropOldest()
      start = bound
    },
  }
}

/**
 * Claims in log order, of which the oldest are dropped. The memory of packed claims is freed only as a whole, so two of
 * them take turns: new claims are added to `newer`; when all of `older` are dropped, it is emptied and they change
 * roles.
 */
function createClaimQueue() {
  let older = createPackedClaims({ plantsPerSpan: CLAIMS_PER_SPAN })
  let newer = createPackedClaims({ plantsPerSpan: CLAIMS_PER_SPAN })
  /** The number of dropped claims of `older`. */
  let dropped = 0
  let bytes = 0
  /** The create of the claim that was added last asks for it at once. */
  let last: Claim | undefined

  function takeTurns(): void {
    older.clear()
    ;[older, newer] = [newer, older]
    dropped = 0
  }

  /** The offset of the oldest claim, of which there must be one. */
  function oldest(): Offset {
    if (dropped === older.size) takeTurns()
    return older.offsetAt(dropped)
  }

  return {
    count: (): number => older.size - dropped + newer.size,

    /** The memory in use. Dropped claims may need as much again, so each claim counts twice. */
    bytes: (): number => 2 * bytes,

    has: (id: PlantId): boolean => newer.numberOf(id) >= 0 || older.numberOf(id) >= dropped,

    get(id: PlantId): Claim | undefined {
      if (id === last?.id) return last
      const found = newer.get(id)
      if (found !== undefined) return found
      const number = older.numberOf(id)
      return number >= dropped ? older.claimAt(number) : undefined
    },

    /** Adds the claim of a new id. */
    push(claim: Claim): void {
      newer.set(claim.id, claim)
      bytes += bytesOf(newer, newer.size - 1)
      last = claim
    },

    oldest,

    /** Drops the oldest claim, of which there must be one. Returns its offset. */
    dropOldest(): Offset {
      const offset = oldest()
      bytes -= bytesOf(older, dropped++)
      if (offset === last?.offset) last = undefined
      return offset
    },

    clear(): void {
      newer.clear()
      takeTurns()
      newer.clear()
      bytes = 0
      last = undefined
    },

    after(offset: Offset, max: number): Claim[] {
      const found = claimsOf(older, indexAfter(older, dropped, offset), max)
      return [...found, ...claimsOf(newer, indexAfter(newer, 0, offset), max - found.length)]
    },
  }
}

const bytesOf = (claims: PackedClaims, number: number): number => CLAIM_OVERHEAD_BYTES + claims.bytesAt(number)

/**
 * The number of the first claim after this offset, from `from` on. By binary search, without a scan of those before:
 * the end of a list is requested again and again, and a window keeps claims for a while after the read model has them.
 */
function indexAfter(claims: PackedClaims, from: number, offset: Offset): number {
  let [low, high] = [from, claims.size]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (claims.offsetAt(middle) > offset) high = middle
    else low = middle + 1
  }
  return low
}

function claimsOf(claims: PackedClaims, from: number, max: number): Claim[] {
  const count = Math.min(max, claims.size - from)
  return Array.from({ length: count }, (_, n) => claims.claimAt(from + n))
}
