import { anotherLog, type Remedies } from '../event-log/positions.ts'
import { FIRST, type Offset, type Partition } from '../plant/offset.ts'
import { type Checkpoint, outOfBounds } from '../protocol/checkpoint.ts'

/** What a consumer may do when the log is not the one it was. */
export const REMEDIES: Remedies = {
  anotherLog:
    'the topic was made anew or lost its end, or this is another cluster. Restore the topic or set brokers and topic ' +
    'right; or, if the log is right as it is, begin with another group and new first claims',
  grown: 'its ids have moved, and it can not be used any more. Restore it from a copy',
}

/** Throws a PreconditionError when a log with these ends can't be the one of which so much was passed. */
export function refuseOutOfBounds(passed: ReadonlyMap<Partition, Checkpoint>, ends: readonly Offset[]): void {
  for (const [partition, checkpoint] of passed) {
    const reason = outOfBounds(checkpoint, ends[partition] ?? FIRST)
    if (reason !== undefined) throw anotherLog(reason, partition, REMEDIES)
  }
}
