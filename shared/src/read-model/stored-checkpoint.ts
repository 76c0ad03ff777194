import { parseEventId } from '../plant/event-id.ts'
import { offsetOf } from '../plant/offset.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'

/** A checkpoint as the scripts tell it. */
export function storedCheckpoint(offset = '-1', event = ''): Checkpoint {
  return { offset: offsetOf(offset), eventId: parseEventId(event) ?? '' }
}
