import type { TopicSettings } from '../../event-log/topic-configuration.ts'
import type { PlantId } from '../../plant/plant.ts'
import type { Claim, LogRecord } from '../../plant/plant-created.ts'
import type { Offset, Partition } from '../../plant/position.ts'
import type { Checkpoint } from '../../protocol/checkpoint.ts'
import { PreconditionError } from '../../runtime/failures.ts'

/**
 * A consumer's store of the first claim of each id. Which claim is first depends on the log alone: a claim creates its
 * plant if the first claim of its id is at its own offset. So the stored claims may be ahead of what was delivered, or
 * behind it, without harm.
 */
export type FirstClaims = {
  /** Opens the store for one topic. Throws a PreconditionError when it belongs to another topic or cannot be used. */
  open(log: TopicSettings): Promise<OpenFirstClaims>
}

export type OpenFirstClaims = {
  /** The checkpoint up to which a partition's claims are stored: the log is read from there, delivered or not. */
  checkpointOf(partition: Partition): Promise<Checkpoint>

  /**
   * Stores the claims of a partition's records up to `next`, in log order and without gaps since `checkpointOf`, and
   * returns the records that created their plants. Records that were stored before may come again. Rejects when it
   * cannot decide now; nothing was decided then, and the same records may come again. One call at a time per partition.
   */
  firstAmong<R extends LogRecord>(partition: Partition, records: readonly R[], next: Checkpoint): Promise<R[]>

  /** Waits for calls in flight. */
  close(): Promise<void>
}

/** The first claims of one partition, up to a checkpoint. */
export type KnownClaims = {
  checkpoint: Checkpoint
  /** The offset of the first claim of an id, if there is one. */
  offsetOf(id: PlantId): Offset | undefined
  /** Adds a claim unless its id has one. Returns the offset of the first claim. */
  add(claim: Claim): Offset
}

/**
 * The records that are the first claims of their ids. Records after the checkpoint are added; earlier ones are known
 * already. Throws a PreconditionError for records of another log than the known claims.
 */
export function firstAmong<R extends LogRecord>(known: KnownClaims, partition: Partition, records: readonly R[]): R[] {
  const { checkpoint } = known
  assertSameEvent(checkpoint, partition, records)
  return records.filter(({ offset, claim }) => {
    if (claim === undefined) return false
    const first = offset > checkpoint.offset ? known.add(claim) : known.offsetOf(claim.id)
    if (first === undefined || first > offset) throw anotherLog(partition, offset)
    return first === offset
  })
}

/** Records on both sides of the checkpoint show which event the log contains there. */
function assertSameEvent({ offset, eventId }: Checkpoint, partition: Partition, records: readonly LogRecord[]): void {
  const [earliest, latest] = [records[0], records.at(-1)]
  if (eventId === '' || earliest === undefined || latest === undefined) return
  if (earliest.offset > offset || latest.offset < offset) return
  const found = records.find((record) => record.offset === offset)?.claim?.eventId
  if (found !== eventId) throw anotherLog(partition, offset)
}

/** The stored first claims do not belong to the log that is read. */
function anotherLog(partition: Partition, offset: Offset): PreconditionError {
  return new PreconditionError(
    `another log: the stored first claims of partition ${partition} do not match the log at offset ${offset}. The topic ` +
      'was recreated or lost its end, or the brokers or the topic are not the same. Correct them, or start with another ' +
      'group and new first claims',
    'another-log',
  )
}
