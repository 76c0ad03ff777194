import type { Claim } from '../../plant/plant-created.ts'
import type { Partition } from '../../plant/position.ts'
import type { LookUpResult } from '../../protocol/coverage.ts'
import { anotherLog } from './first-among.ts'

export type EntryVerdict = 'first' | 'later' | 'unknown'

/**
 * What the read model says of a claim in the log: whether it is the first one of its id. An entry is true however far
 * the model has come, for it is a fold of the log's beginning; without one, the model has not come to this claim yet.
 * Throws a PreconditionError when the model is a fold of another log.
 */
export function entryVerdict(
  partition: Partition,
  { offset, eventId }: Claim,
  { entry, checkpoint }: LookUpResult,
): EntryVerdict {
  if (entry === undefined) {
    if (checkpoint >= offset) throw anotherLog(partition, offset)
    return 'unknown'
  }
  if (entry.offset > offset) throw anotherLog(partition, offset)
  if (entry.offset < offset) return 'later'
  if (entry.eventId !== eventId) throw anotherLog(partition, offset)
  return 'first'
}
