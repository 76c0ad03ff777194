import { parseEventId } from '../plant/event-id.ts'
import { offsetOf } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'

/** A checkpoint as the scripts tell it. Throws a RangeError for what is no offset, to the letter: so the scripts compare it. */
export function storedCheckpoint(offset = '-1', event = ''): Checkpoint {
  const found = offsetOf(offset)
  if (String(found) !== offset)
    throw new RangeError(`the read model has a checkpoint ${JSON.stringify(offset)}, which is no offset`)
  return { offset: found, eventId: parseEventId(event) ?? '' }
}
