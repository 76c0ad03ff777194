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
  let start = from
  let next = from
  let heldBytes = 0

  function drop(claim: Claim): void {
    claims.delete(claim.id)
    heldBytes -= bytesOf(claim)
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

    firstClaim(id: PlantId): Claim | undefined {
      return claims.get(id)
    },

    /** Takes the next record in. Returns its claim if it is the first of its id in the window. */
    pass({ offset, claim }: LogRecord): Claim | undefined {
      if (offset < next) throw new RangeError(`offset ${offset} was passed before`)
      next = after(offset)
      if (claim === undefined || claims.has(claim.id)) return undefined
      claims.set(claim.id, claim)
      heldBytes += bytesOf(claim)
      for (const oldest of claims.values()) {
        if (heldBytes <= maxBytes) break
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
      for (const oldest of claims.values()) {
        if (oldest.offset >= bound) break
        drop(oldest)
      }
      start = bound
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
