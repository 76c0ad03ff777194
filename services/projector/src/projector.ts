import type { Follower } from '@plant-store/shared/event-log/follow.ts'
import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import { undecodableText } from '@plant-store/shared/event-log/undecodable.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { applyInChunks } from '@plant-store/shared/read-model/apply.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { eachApart, repeat } from '@plant-store/shared/runtime/retry.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import type { TableWriter } from '@plant-store/shared/table/table-writer.ts'

export type ProjectorOptions = {
  readModel: Pick<ReadModel, 'apply' | 'meta'>
  /** Creates a follower of the log that feeds the sink. */
  follow(sink: RecordSink): Follower
  log: Log
  time: Time
  /** Creates a name that no generation has had before. */
  freshGeneration(): string
  maxRecordsPerApply?: number
  /** Receives the applied records, and regularly the checkpoints of the assigned partitions. */
  table?: Pick<TableWriter, 'applied' | 'follow'> | undefined
  onHalt(error: Error): void
}

const COMPARE_EVERY_MS = 1_000
const COMMIT_EVERY_MS = 5_000

/**
 * Folds the log into the live generation of the read model. It continues at the checkpoint that the read model itself
 * stores, and the script rejects any batch that does not start there. So a zombie, a second projector on the same
 * partition or a repeated batch does no harm.
 */
export function createProjector(options: ProjectorOptions) {
  const { readModel, log, time, freshGeneration, maxRecordsPerApply, table, onHalt } = options

  async function apply(partition: Partition, from: Checkpoint, records: readonly LogRecord[], next: Checkpoint) {
    const parked = records.filter(({ parked }) => parked !== undefined)
    const applied = await readModel.apply(partition, from, next, records, freshGeneration())
    if (applied.is === 'stale') {
      log.info(
        { partition, expected: from.offset, found: applied.checkpoint.offset },
        'the checkpoint has moved, seeking',
      )
      return applied.checkpoint
    }
    table?.applied(partition, { from, records, next })
    log.debug({ partition, from: from.offset, to: next.offset, records: records.length }, 'applied')
    // One line per batch, because there may be millions of parked records.
    const [first] = parked
    if (first !== undefined) {
      const { offset, parked: reason } = first
      log.warn({ partition, parked: parked.length, first: { offset, reason } }, 'parked records')
    }
    return next
  }

  const follower = options.follow({
    onHalt,
    checkpointOf: async (partition) => (await readModel.meta(partition)).checkpoint,
    onRecords: (partition, records, next, from) =>
      applyInChunks(
        (expected, chunk, reached) => apply(partition, expected, chunk, reached),
        from,
        records,
        next,
        maxRecordsPerApply,
      ),
  })

  /** The checkpoints of the assigned partitions. */
  function checkpoints(): Map<Partition, Checkpoint> {
    const known = new Map<Partition, Checkpoint>()
    for (const [partition, checkpoint] of follower.assigned() ?? []) {
      if (checkpoint !== undefined) known.set(partition, checkpoint)
    }
    return known
  }

  /**
   * Notices an emptied Redis although nothing is written: apis with a coverage gap append nothing, so no delivery would
   * show it.
   */
  async function compareCheckpoints(): Promise<void> {
    const moved = new Map<Partition, Checkpoint>()
    try {
      await eachApart(follower.assigned() ?? [], async ([partition, assigned]) => {
        if (assigned === undefined) return
        const { checkpoint } = await readModel.meta(partition)
        if (checkpoint.offset !== assigned.offset || checkpoint.eventId !== assigned.eventId) {
          moved.set(partition, assigned)
        }
      })
    } finally {
      follower.reloadCheckpoints(moved)
      table?.follow(checkpoints())
    }
  }
  const common = { time, log, onHalt }
  const comparing = repeat({
    ...common,
    everyMs: COMPARE_EVERY_MS,
    task: compareCheckpoints,
    what: 'comparing checkpoints',
  })
  const committing = repeat({
    ...common,
    everyMs: COMMIT_EVERY_MS,
    task: follower.commitForLagTools,
    what: 'committing offsets',
  })

  return {
    start: follower.start,

    /** Resolves when the log is verified to be the one that the read model was folded from. */
    verified: follower.verified,

    /** The number of known records that are not applied yet; undefined without partitions. */
    lag: follower.lag,
    updateEnds: follower.updateEnds,

    checkpoints,

    /** The reasons why records are not applied at the moment; empty when they are. */
    problems: (): string[] => [
      ...follower.problems(),
      ...follower.undecodable().map(undecodableText),
      ...comparing.problems(),
    ],

    async close(): Promise<void> {
      await Promise.all([comparing.close(), committing.close(), follower.close()])
    },
  }
}
