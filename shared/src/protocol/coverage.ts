import type { EventId } from '../plant/event-id.ts'
import type { PlantId } from '../plant/plant.ts'
import type { Claim } from '../plant/plant-created.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'

/** One atomic look-up of an id in the read model: its entry, if any, and the model's checkpoint (C). */
export type LookUpResult = { entry: Claim | undefined; checkpoint: Offset }

/** The part of a window that decisions read. */
export type WindowReader = {
  readonly start: Offset
  readonly next: Offset
  firstClaim(id: PlantId): Claim | undefined
}

/** True if offsets are missing between the read model (0..C) and the window (T0..). */
export function hasCoverageGap(window: WindowReader, checkpoint: Offset): boolean {
  return window.start > after(checkpoint)
}

/** The reach: the last offset up to which read model and window together have no gap. */
export function coverageReach(window: WindowReader, checkpoint: Offset): Offset {
  const tail = (window.next - 1) as Offset
  return hasCoverageGap(window, checkpoint) || checkpoint > tail ? checkpoint : tail
}

export type FirstClaim = { is: 'claimed'; first: Claim } | { is: 'absent' } | { is: 'unknown' }

/**
 * The first claim of an id, as far as this instance knows; creates and reads share this function. An entry of the read
 * model is right even with a gap, because the model is a fold of the log's beginning. Everything else needs coverage
 * without a gap. Pass the window as it is after the look-up: a window read before it may have dropped claims that the
 * look-up does not include yet.
 */
export function firstClaimOf(id: PlantId, { entry, checkpoint }: LookUpResult, window: WindowReader): FirstClaim {
  if (entry !== undefined) return { is: 'claimed', first: entry }
  if (hasCoverageGap(window, checkpoint)) return { is: 'unknown' }
  const first = window.firstClaim(id)
  return first === undefined ? { is: 'absent' } : { is: 'claimed', first }
}

export type Verdict = 'created' | 'duplicate'

/** The verdict on a create with the event id `own`, once the first claim of its plant id is known. */
export function verdict(own: EventId, first: { eventId: EventId }): Verdict {
  return own === first.eventId ? 'created' : 'duplicate'
}

/**
 * The monotonic-read floor (H): per partition the highest offset that this instance has ever shown, and at its start
 * the log's last one. "Absent" is a valid result only when the reach is at least H. Otherwise a client could lose a
 * plant that this instance showed before.
 */
export function createReadFloor(lastOffsets: readonly Offset[]) {
  const floors = [...lastOffsets]
  return {
    raise(partition: Partition, offset: Offset): void {
      if (offset > (floors[partition] as Offset)) floors[partition] = offset
    },

    of(partition: Partition): Offset {
      return floors[partition] as Offset
    },
  }
}
