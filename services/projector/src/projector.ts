import type { Kafka } from '@plant-store/shared/event-log/connection.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import type { TopicSettings } from '@plant-store/shared/event-log/topic.ts'
import type { Partition } from '@plant-store/shared/plant/offset.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Log } from '@plant-store/shared/process/log.ts'
import { repeat } from '@plant-store/shared/process/repeat.ts'
import { type Checkpoint, checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'

export type ProjectorOptions = TopicSettings & {
  kafka: Kafka
  readModel: ReadModel
  log: Log
  /** Makes a name that no generation ever had. */
  freshGeneration(): string
  onHalt(error: Error): void
}

const COMPARE_EVERY_MS = 1_000
const COMMIT_EVERY_MS = 5_000
/** One call of the script; it keeps Redis busy for about 2 ms. */
const MAX_RECORDS_PER_APPLY = 512
/** Fuller fetches cost less: wait up to 20 ms for 64 KiB. */
const MIN_BYTES = 65_536
const MAX_WAIT_MS = 20

/**
 * Folds the log into the live generation of the read model. Where it goes on is what the read model's own
 * checkpoint says; the script refuses anything that does not follow it. So a zombie, a second projector on
 * the same partition or a batch taken twice is harmless.
 */
export function createProjector(options: ProjectorOptions) {
  const { readModel, log, freshGeneration } = options

  async function apply(
    partition: Partition,
    from: Checkpoint,
    records: LogRecord[],
    next: Checkpoint,
  ): Promise<Checkpoint> {
    const parked = records.filter(({ parked }) => parked !== undefined)
    const applied = await readModel.apply(partition, from, next, records, freshGeneration())
    if (applied.is === 'stale') {
      log.info(
        { partition, expected: from.offset, found: applied.checkpoint.offset },
        'the checkpoint moved; seeking',
      )
      return applied.checkpoint
    }
    for (const record of parked) {
      log.warn({ partition, offset: record.offset, reason: record.parked }, 'parked a record')
    }
    return next
  }

  const follower = createFollower({
    ...options,
    groupId: () => `${options.topic}-projector`,
    minBytes: MIN_BYTES,
    maxWaitMs: MAX_WAIT_MS,
    checkpointOf: async (partition) => (await readModel.meta(partition)).checkpoint,
    async onRecords(partition, records, next, from) {
      let at = from
      for (let start = 0; start < records.length; start += MAX_RECORDS_PER_APPLY) {
        const chunk = records.slice(start, start + MAX_RECORDS_PER_APPLY)
        const isLast = start + MAX_RECORDS_PER_APPLY >= records.length
        const reached = isLast ? next : checkpointAt((chunk.at(-1) as LogRecord).offset, chunk)
        at = await apply(partition, at, chunk, reached)
        if (at !== reached) return at
      }
      return records.length === 0 ? apply(partition, at, [], next) : at
    },
  })

  /** An emptied Redis must be refilled though no event comes: the api, seeing a gap, appends none. */
  async function compareCheckpoints(): Promise<void> {
    const moved = new Map<Partition, Checkpoint>()
    for (const [partition, standing] of follower.assigned() ?? []) {
      if (standing === undefined) continue
      const { checkpoint } = await readModel.meta(partition)
      if (checkpoint.offset !== standing.offset || checkpoint.eventId !== standing.eventId) {
        moved.set(partition, standing)
      }
    }
    follower.reseek(moved)
  }
  const comparing = repeat(COMPARE_EVERY_MS, compareCheckpoints, 'comparing checkpoints', log, options.onHalt)
  const { commitForLagTools } = follower
  const committing = repeat(COMMIT_EVERY_MS, commitForLagTools, 'committing offsets', log, options.onHalt)

  return {
    start: follower.start,

    /** Resolves when the log was seen to be the one that the read model was folded from. */
    proven: follower.proven,

    /** The checkpoints of the partitions this projector has. */
    checkpoints(): Map<Partition, Checkpoint> {
      const known = new Map<Partition, Checkpoint>()
      for (const [partition, checkpoint] of follower.assigned() ?? []) {
        if (checkpoint !== undefined) known.set(partition, checkpoint)
      }
      return known
    },

    /** Why nothing is projected now; none when the work goes on. */
    problems(): string[] {
      const assigned = follower.assigned()
      if (assigned === undefined) return ['kafka: waiting for the group to be joined']
      const unknown = [...assigned].filter(([, checkpoint]) => checkpoint === undefined)
      return unknown.map(([partition]) => `partition ${partition}: its checkpoint is not known yet`)
    },

    async close(): Promise<void> {
      await Promise.all([comparing.close(), committing.close(), follower.close()])
    },
  }
}
