import { type PlantId, textLengthOf } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { after, type Offset } from '../plant/position.ts'

/** Memory of one claim besides its texts, measured; texts count two bytes per UTF-16 unit. */
const CLAIM_OVERHEAD_BYTES = 320

/**
 * The newest claims of one partition in the memory of an api: the first claim of each id from offset `start` (T0) up to
 * `next`. A full window drops its oldest claims and moves `start` up. It never refuses a record: a paused tail would
 * never close a coverage gap.
 */
export type Window = ReturnType<typeof createWindow>

export function createWindow(from: Offset, maxBytes: number) {
  const claims = new Map<PlantId, Claim>()
  // The same claims in log order. The map's own order is too slow: to reach its oldest entry, V8 steps over all deleted
  // entries before it, 0.2 ms for 100,000.
  const order = createQueue()
  let start = from
  let next = from
  let totalBytes = 0

  function drop(oldest: Claim): void {
    claims.delete(oldest.id)
    order.dropOldest()
    totalBytes -= bytesOf(oldest)
  }

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
      return { claims: claims.size, bytes: totalBytes }
    },

    firstClaim(id: PlantId): Claim | undefined {
      return claims.get(id)
    },

    /** Up to `max` claims after an offset, in log order. */
    claimsAfter: order.claimsAfter,

    /** Adds the next record. Returns its claim if it is the first of its id in the window. */
    pass({ offset, claim }: LogRecord): Claim | undefined {
      if (offset < next) throw new RangeError(`offset ${offset} was passed before`)
      next = after(offset)
      if (claim === undefined || claims.has(claim.id)) return undefined
      claims.set(claim.id, claim)
      order.push(claim)
      totalBytes += bytesOf(claim)
      while (totalBytes > maxBytes) {
        const oldest = order.oldest() as Claim
        drop(oldest)
        start = after(oldest.offset)
      }
      return claim
    },

    /** Moves `next` up to `offset` when only control records, which have no content, are left before it. */
    passTo(offset: Offset): void {
      if (offset > next) next = offset
    },

    /** Drops the claims before `offset`, which the read model has had for a while, and moves T0 up to it. */
    dropBefore(offset: Offset): void {
      const bound = offset < next ? offset : next
      if (bound <= start) return
      let oldest = order.oldest()
      while (oldest !== undefined && oldest.offset < bound) {
        drop(oldest)
        oldest = order.oldest()
      }
      start = bound
    },
  }
}

/**
 * Claims in log order. Finds those after an offset by binary search, without a scan of those before: the end of a list is
 * requested again and again, and a window keeps claims for a while after the read model has them.
 */
function createQueue() {
  const claims: (Claim | undefined)[] = []
  let dropped = 0

  /** The index of the first claim after this offset. */
  function indexAfter(offset: Offset): number {
    let [low, high] = [dropped, claims.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((claims[middle] as Claim).offset > offset) high = middle
      else low = middle + 1
    }
    return low
  }

  return {
    push: (claim: Claim): void => void claims.push(claim),

    oldest: (): Claim | undefined => claims[dropped],

    dropOldest(): void {
      claims[dropped++] = undefined
      if (2 * dropped <= claims.length) return
      claims.splice(0, dropped)
      dropped = 0
    },

    claimsAfter(offset: Offset, max: number): Claim[] {
      const index = indexAfter(offset)
      return claims.slice(index, index + max) as Claim[]
    },
  }
}

function bytesOf({ plant }: Claim): number {
  return CLAIM_OVERHEAD_BYTES + 2 * (plant === undefined ? 0 : textLengthOf(plant))
}

/**
 * How far a window may drop its claims: up to the lowest of the last `readings` checkpoints. Counted in readings, not in
 * time. When a failover makes the read model fall back, the window still covers the offsets that it lost.
 */
export function createRetention(readings: number) {
  const checkpoints: Offset[] = []
  return {
    /** Adds a reading. Returns the offset to drop before; undefined until there are enough readings. */
    add(checkpoint: Offset): Offset | undefined {
      checkpoints.push(checkpoint)
      if (checkpoints.length > readings) checkpoints.shift()
      return checkpoints.length < readings ? undefined : after(Math.min(...checkpoints) as Offset)
    },
  }
}
