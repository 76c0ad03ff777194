import { assertWithinBounds } from '@plant-store/shared/event-log/log-identity.ts'
import { FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { MAX_RECORDS_PER_APPLY } from '@plant-store/shared/read-model/apply.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { partitionGroups } from '../verify/slice.ts'
import type { PartitionResult } from './finish.ts'
import { rebuildGroup } from './group.ts'
import { nothingLive } from './rebuild-error.ts'
import type { GroupDependencies, GroupOptions } from './rebuild-options.ts'
import { createPace } from './rebuild-progress.ts'

export type RebuildDependencies = GroupDependencies & {
  generations: GroupDependencies['generations'] & Pick<Generations, 'list'>
} & Partial<Pick<GroupOptions, 'recordsAtOnceMax' | 'maxRecordsPerApply'>>

export type RebuildRun = Pick<GroupOptions, 'fromEmpty' | 'onProgress' | 'signal'> & {
  partitions: readonly Partition[]
  /** Over all partitions; unlimited without it. */
  recordsPerSecond?: number | undefined
}

const RECORDS_FOLDED_MAX = 2_000_000
const CLEAN_UP_GIVE_UP_MS = 10_000
const RETRY_MS = 250

export type Rebuild = ReturnType<typeof createRebuild>

/**
 * Rebuilds partitions of the read model from the log while they serve. Each gets a new generation: it is filled from
 * the log's first offset, compared with an independent fold, and made live by a switch that accepts only the verified
 * state.
 */
export function createRebuild(dependencies: RebuildDependencies) {
  const { generations, readEnds, time, log } = dependencies
  const { recordsAtOnceMax = RECORDS_FOLDED_MAX, maxRecordsPerApply = MAX_RECORDS_PER_APPLY } = dependencies

  /**
   * Resolves with the partitions that have anything to rebuild, and the ends of the log. Throws when nothing is live of
   * a partition to be replaced, or when its read model is of another log.
   */
  async function checkLive({ partitions, fromEmpty }: RebuildRun) {
    const states = await Promise.all(partitions.map((partition) => generations.state(partition)))
    // After the checkpoints: in the reverse order a checkpoint could appear to be beyond the end.
    const ends = await readEnds()
    const isWritten = (partition: Partition) => (ends[partition] as Offset) > FIRST
    const empty = partitions.filter((p, n) => states[n]?.checkpoint === undefined && isWritten(p))
    if (empty.length > 0 && !fromEmpty) throw nothingLive(empty)
    for (const [n, partition] of partitions.entries()) {
      const checkpoint = states[n]?.checkpoint
      if (checkpoint !== undefined) assertWithinBounds([[partition, checkpoint]], ends)
    }
    const filled = partitions.filter((p, n) => states[n]?.checkpoint !== undefined || isWritten(p))
    return { ends, filled }
  }

  /**
   * Drops each generation of these partitions that is neither live nor being filled: replaced ones, those that an
   * interrupted rebuild left behind, and those that a failover restored.
   */
  async function dropLeftovers(partitions: readonly Partition[]): Promise<void> {
    for (const { partition, names } of (await generations.list()).partitions) {
      if (!partitions.includes(partition)) continue
      for (const generation of names) {
        // The script refuses to drop a generation that is live or being filled at that moment.
        const result = await generations.drop(partition, generation)
        if (result.is === 'dropped') log.info({ partition, generation }, 'dropped a leftover generation')
      }
    }
  }

  return {
    /**
     * Resolves with the result of each partition that has anything in the log or in Redis. Rejects with a RebuildError
     * or a PreconditionError, whose message names the remedy, or with the signal's reason. Live generations are then
     * unchanged or already the new ones.
     */
    async run(run: RebuildRun): Promise<PartitionResult[]> {
      const { partitions, signal } = run
      signal.throwIfAborted()
      const { ends, filled } = await checkLive(run)
      const keepPace = createPace(run.recordsPerSecond, time)
      const results: PartitionResult[] = []
      for (const group of partitionGroups(filled, (p) => ends[p] as Offset, recordsAtOnceMax)) {
        const limits = { recordsAtOnceMax, maxRecordsPerApply }
        results.push(...(await rebuildGroup(group, { ...dependencies, ...run, ...limits, ends, keepPace })))
      }
      const retrying = { time, everyMs: RETRY_MS, giveUpAfterMs: CLEAN_UP_GIVE_UP_MS }
      await retry(() => dropLeftovers(partitions), retrying)
      return results
    },
  }
}
