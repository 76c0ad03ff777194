import type { Kafka } from '../../event-log/connection.ts'
import type { TopicSettings } from '../../event-log/topic.ts'
import type { LogRecord } from '../../plant/plant-created.ts'
import type { Partition } from '../../plant/position.ts'
import type { Checkpoint } from '../../protocol/checkpoint.ts'
import type { Log } from '../../runtime/log.ts'
import type { Time } from '../../runtime/time.ts'

/**
 * Where a consumer knows from which claim of each id is the first one. That is a function of the log alone: a claim
 * creates its plant if the first claim of its id lies at its own offset. So what is kept may be ahead of what was
 * delivered, or behind; both do no harm.
 */
export type FirstClaims = {
  /** Makes ready for one topic. Throws a PreconditionError when what is kept is of another topic or can't be used. */
  open(surroundings: TopicSettings & { kafka: Kafka; log: Log; time: Time }): Promise<OpenFirstClaims>
}

export type OpenFirstClaims = {
  /**
   * How far a partition's claims are known: the log has to be read on from there, delivered or not. Undefined when
   * they are known from elsewhere, and reading may begin anywhere.
   */
  checkpointOf(partition: Partition): Promise<Checkpoint | undefined>

  /**
   * Takes in the records of a partition up to `next`, in log order and without gaps since `checkpointOf`, and tells those
   * that created their plant. What was taken in before may come again. Rejects when it can't tell now: nothing was
   * decided then, and the same records may come again. One call at a time for each partition.
   */
  firstAmong<R extends LogRecord>(partition: Partition, records: readonly R[], next: Checkpoint): Promise<R[]>

  /** Lets calls under way finish. */
  close(): Promise<void>
}
