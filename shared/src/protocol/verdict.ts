import type { EventId } from '../plant/event-id.ts'
import type { Offset } from '../plant/offset.ts'
import type { Claim } from '../plant/plant-created.ts'
import type { PlantId } from '../plant/plant-id.ts'
import { hasGap, type WindowFace } from './coverage.ts'

export type Verdict = 'created' | 'duplicate'

/** The answer to a create whose event is `mine`, once the first claim of its id is known. */
export function verdict(mine: EventId, first: { eventId: EventId }): Verdict {
  return mine === first.eventId ? 'created' : 'duplicate'
}

export type AfterAppend = { is: 'decided'; first: Claim } | { is: 'waiting' } | { is: 'window moved on' }

/**
 * Who is first for an id that was appended after a look-up that told no entry up to `checkpoint`. The
 * window may say so only as long as it reaches back to that look-up: one that moved on may have dropped
 * the true first claim and hold a later one. Then only the read model's entry decides.
 */
export function afterAppend(id: PlantId, checkpoint: Offset, window: WindowFace): AfterAppend {
  if (hasGap(window, checkpoint)) return { is: 'window moved on' }
  const first = window.firstClaim(id)
  return first === undefined ? { is: 'waiting' } : { is: 'decided', first }
}
