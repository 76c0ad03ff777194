import { after, type Offset } from '../plant/offset.ts'
import type { Claim } from '../plant/plant-created.ts'
import type { PlantId } from '../plant/plant-id.ts'

/** What one atomic look-up in the read model told of an id: its entry, if any, and how far the model had come (C). */
export type LookedUp = { entry: Claim | undefined; checkpoint: Offset }

/** What the deciding code needs of a window. */
export type WindowFace = {
  readonly start: Offset
  readonly next: Offset
  firstClaim(id: PlantId): Claim | undefined
}

export type FirstOf = { is: 'claimed'; first: Claim } | { is: 'absent' } | { is: 'unknown' }

/** Whether offsets are missing between what the read model knows (0..C) and what the window knows (T0..). */
export function hasGap(window: WindowFace, checkpoint: Offset): boolean {
  return window.start > after(checkpoint)
}

/** The last offset up to which the view has everything. */
export function reachOf(window: WindowFace, checkpoint: Offset): Offset {
  const tail = (window.next - 1) as Offset
  return hasGap(window, checkpoint) || checkpoint > tail ? checkpoint : tail
}

/**
 * The first claim of an id, as far as this view can tell; creates and reads both ask here. An entry of
 * the read model is true even with a gap, for the model is a fold of the log's beginning. Anything
 * else is true only without a gap. Take the window after the read model has answered: a window
 * taken before could have dropped what the answer does not have yet.
 */
export function firstOf(id: PlantId, { entry, checkpoint }: LookedUp, window: WindowFace): FirstOf {
  if (entry !== undefined) return { is: 'claimed', first: entry }
  if (hasGap(window, checkpoint)) return { is: 'unknown' }
  const first = window.firstClaim(id)
  return first === undefined ? { is: 'absent' } : { is: 'claimed', first }
}
