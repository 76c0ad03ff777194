import type { PlantId } from '../../plant/plant.ts'
import type { Claim, LogRecord } from '../../plant/plant-created.ts'
import type { Offset, Partition } from '../../plant/position.ts'
import type { Checkpoint } from '../../protocol/checkpoint.ts'
import { PreconditionError } from '../../runtime/failures.ts'

/** The first claims of one partition, up to a checkpoint. */
export type KnownClaims = {
  checkpoint: Checkpoint
  /** Where the first claim of an id lies, if it has one. */
  offsetOf(id: PlantId): Offset | undefined
  /** Takes in a claim, unless its id has one already. Tells where the first one lies. */
  add(claim: Claim): Offset
}

/**
 * Those of these records that are the first claims of their ids. What lies beyond the checkpoint is taken in; what came
 * before it is known already. Throws a PreconditionError for records of another log than the one that is known.
 */
export function firstAmong<R extends LogRecord>(
  known: KnownClaims,
  partition: Partition,
  records: readonly R[],
): R[] {
  const { checkpoint } = known
  refuseOtherEvent(checkpoint, partition, records)
  return records.filter(({ offset, claim }) => {
    if (claim === undefined) return false
    const first = offset > checkpoint.offset ? known.add(claim) : known.offsetOf(claim.id)
    if (first === undefined || first > offset) throw anotherLog(partition, offset)
    return first === offset
  })
}

/** Where they pass the checkpoint, they show which event the log holds there. */
function refuseOtherEvent(
  { offset, eventId }: Checkpoint,
  partition: Partition,
  records: readonly LogRecord[],
): void {
  const [earliest, latest] = [records[0], records.at(-1)]
  if (eventId === '' || earliest === undefined || latest === undefined) return
  if (earliest.offset > offset || latest.offset < offset) return
  const found = records.find((record) => record.offset === offset)?.claim?.eventId
  if (found !== eventId) throw anotherLog(partition, offset)
}

/** What is known of first claims can't come from the log that is read now. */
export function anotherLog(partition: Partition, offset: Offset): PreconditionError {
  return new PreconditionError(
    `another log: what is known of the first claims in partition ${partition} is not of the log that is read, as its ` +
      `offset ${offset} shows. The topic was made anew or lost its end, or the brokers or the topic are others. Set ` +
      'them right, or begin with another group and new first claims',
    'another-log',
  )
}
