import type { TopicId } from '../kafka-client/topic-id.ts'
import { FIRST, type Offset, type Partition } from '../plant/position.ts'
import { type Checkpoint, outOfBounds } from '../protocol/checkpoint.ts'
import { PreconditionError } from '../runtime/failures.ts'

// What makes a log another log than the one that was read before: another topic id, an end before a checkpoint, another
// event at a checkpoint (decided in protocol/checkpoint.ts), or another number of partitions.

export type { TopicId }

/** Without a lookahead, which Helm does not know: Kafka refuses . and .. alone. */
export const TOPIC_NAME = /^([\w-][\w.-]?|\.[\w-]|[\w.-]{3,249})$/

/** The id of the topic, and the next offset of each partition: unknown if not reported, or without a leader. */
export type KnownEnds = {
  topicId: TopicId | undefined
  ends: readonly (Offset | undefined)[]
  /** The error of a leader that did not respond. */
  unreachable?: Error | undefined
}

export const SERVICE_REMEDY =
  'the topic was recreated or lost its end, or REDIS_URL points to the read model of another topic. Restore the ' +
  'topic, or correct REDIS_URL and PLANTS_TOPIC, or, if both are correct, delete the keys of this topic in Redis: ' +
  'they are rebuilt from the log'

/** The error for a log that cannot be the one that a checkpoint comes from. */
export function anotherLog(reason: string, partition: Partition, remedy: string): PreconditionError {
  return new PreconditionError(`${reason} (partition ${partition}): ${remedy}`, 'another-log')
}

/** Throws a PreconditionError for another topic of this name. Without ids, as of old brokers, nothing is known. */
export function assertSameTopic(before: TopicId | undefined, now: TopicId | undefined, remedy: string): void {
  if (before === undefined || now === undefined || before === now) return
  throw new PreconditionError(`another log: the topic had the id ${before}, it has ${now}: ${remedy}`, 'another-log')
}

/** Throws a PreconditionError for a log that ends before one of these checkpoints. An unknown end proves nothing. */
export function assertWithinBounds(
  checkpoints: Iterable<readonly [Partition, Checkpoint]>,
  ends: KnownEnds['ends'],
  remedy = SERVICE_REMEDY,
): void {
  for (const [partition, checkpoint] of checkpoints) {
    const end = partition < ends.length ? ends[partition] : FIRST
    const reason = end === undefined ? undefined : outOfBounds(checkpoint, end)
    if (reason !== undefined) throw anotherLog(reason, partition, remedy)
  }
}

/** The error for a topic whose number of partitions changed. `change` says from what to what. */
export function partitionsChanged(change: string): PreconditionError {
  return new PreconditionError(
    `${change}: ids have moved to other partitions, and the topic cannot be used any more. Restore it from a copy ` +
      'with the former number of partitions',
    'partitions-changed',
  )
}
