import { after, type Offset } from '../plant/offset.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import type { PlantId } from '../plant/plant-id.ts'

/** Memory a held claim costs beyond its texts, measured; texts count two bytes a UTF-16 unit. */
const CLAIM_OVERHEAD_BYTES = 320

/**
 * The newest part of one partition as an api instance holds it: the first claim of each id among the
 * offsets from `start` (T0) up to `next`. It is bounded: when full it drops its oldest claims and moves
 * `start` up. It never refuses a record, for a tail that pauses would never end a gap.
 */
export type Window = ReturnType<typeof createWindow>

export function createWindow(from: Offset, maxBytes: number) {
  const claims = new Map<PlantId, Claim>()
  // The same claims in log order. Not the map's own order: to reach its oldest entry, V8 steps over the places of
  // all that were deleted before, 0.2 ms for 100,000.
  const order = createQueue()
  let start = from
  let next = from
  let heldBytes = 0

  function drop(oldest: Claim): void {
    claims.delete(oldest.id)
    order.dropOldest()
    heldBytes -= bytesOf(oldest)
  }

  return {
    /** T0: offsets below are not covered. */
    get start(): Offset {
      return start
    },
    /** The offset the tail reads next. */
    get next(): Offset {
      return next
    },

    /** What it holds now, in claims and in bytes of memory. */
    get held(): { claims: number; bytes: number } {
      return { claims: claims.size, bytes: heldBytes }
    },

    firstClaim(id: PlantId): Claim | undefined {
      return claims.get(id)
    },

    /** The first claims of their ids among the offsets after this one, in log order, at most so many. */
    claimsAfter: order.claimsAfter,

    /** Takes the next record in. Returns its claim if it is the first of its id in the window. */
    pass({ offset, claim }: LogRecord): Claim | undefined {
      if (offset < next) throw new RangeError(`offset ${offset} was passed before`)
      next = after(offset)
      if (claim === undefined || claims.has(claim.id)) return undefined
      claims.set(claim.id, claim)
      order.push(claim)
      heldBytes += bytesOf(claim)
      while (heldBytes > maxBytes) {
        const oldest = order.oldest() as Claim
        drop(oldest)
        start = after(oldest.offset)
      }
      return claim
    },

    /** Notes that there is no more to read before `offset` (control records have no content). */
    passTo(offset: Offset): void {
      if (offset > next) next = offset
    },

    /** Drops what lies before `offset`, which the read model has had for a while, and moves T0 up to it. */
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
 * Claims in log order, of which some after an offset are found without a look at those before: the end of a list is
 * asked for again and again, and a window keeps what the read model has had for a while.
 */
function createQueue() {
  const claims: (Claim | undefined)[] = []
  let dropped = 0

  /** Where the first claim after this offset is, or would be. */
  function placeAfter(offset: Offset): number {
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
      const place = placeAfter(offset)
      return claims.slice(place, place + max) as Claim[]
    },
  }
}

function bytesOf({ plant }: Claim): number {
  return CLAIM_OVERHEAD_BYTES + 2 * ((plant?.name.length ?? 0) + (plant?.tag?.length ?? 0))
}

/**
 * How far a window may drop: what each of the last `readings` checkpoints had passed. Counted in
 * readings, not in time, and the lowest of them: a read model that falls back (a failover) finds
 * the window still covering what it lost.
 */
export function createRetention(readings: number) {
  const seen: Offset[] = []
  return {
    /** Notes the checkpoint just read; returns the offset to drop before, undefined as long as too few are known. */
    note(checkpoint: Offset): Offset | undefined {
      seen.push(checkpoint)
      if (seen.length > readings) seen.shift()
      return seen.length < readings ? undefined : after(Math.min(...seen) as Offset)
    },
  }
}
