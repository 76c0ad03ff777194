import { FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { outOfBounds } from '@plant-store/shared/protocol/checkpoint.ts'
import { MAX_RECORDS_PER_APPLY } from '@plant-store/shared/read-model/apply.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { partitionGroups } from '../verify/partition-groups.ts'
import { cleanUp } from './clean-up.ts'
import { nothingOf, RebuildError } from './failures.ts'
import type { Finished } from './finish.ts'
import { type GroupOptions, rebuildGroup } from './group.ts'
import { createPace } from './pace.ts'

export type RebuildDependencies = Omit<
  GroupOptions,
  keyof RebuildRun | 'generations' | 'ends' | 'keepPace' | 'recordsAtOnceMax' | 'maxRecordsPerApply'
> & {
  generations: GroupOptions['generations'] & Pick<Generations, 'list'>
} & Partial<Pick<GroupOptions, 'recordsAtOnceMax' | 'maxRecordsPerApply'>>

export type RebuildRun = Pick<GroupOptions, 'fromEmpty' | 'signal' | 'onProgress'> & {
  partitions: readonly Partition[]
  /** Of all partitions together; unlimited without it. */
  recordsPerSecond?: number | undefined
}

const RECORDS_FOLDED_MAX = 2_000_000
const CLEAN_UP_GIVE_UP_MS = 10_000
const RETRY_MS = 250

export type Rebuild = ReturnType<typeof createRebuild>

/**
 * Rebuilds partitions of the read model from the log while they serve: each gets a new generation, filled from the
 * log's first offset, compared with an independent fold, and made live by a switch that refuses anything else than
 * what was verified.
 */
export function createRebuild(dependencies: RebuildDependencies) {
  const { generations, readEnds, time, log } = dependencies
  const { recordsAtOnceMax = RECORDS_FOLDED_MAX, maxRecordsPerApply = MAX_RECORDS_PER_APPLY } = dependencies

  /**
   * Which partitions there is something to do for, and where the log ends. Throws when Redis holds nothing of a
   * partition that would be replaced, or what is of another log.
   */
  async function checkLive({ partitions, fromEmpty }: RebuildRun) {
    const states = await Promise.all(partitions.map((partition) => generations.state(partition)))
    // After the checkpoints: the other way round one could seem to lie beyond the end.
    const ends = await readEnds()
    const isWritten = (partition: Partition) => (ends[partition] as Offset) > FIRST
    const empty = partitions.filter((p, n) => states[n]?.checkpoint === undefined && isWritten(p))
    if (empty.length > 0 && !fromEmpty) throw new RebuildError(nothingOf(empty))
    for (const [n, partition] of partitions.entries()) {
      const checkpoint = states[n]?.checkpoint
      const reason = checkpoint && outOfBounds(checkpoint, ends[partition] as Offset)
      if (reason !== undefined) throw new PreconditionError(`${reason} (partition ${partition})`)
    }
    const filled = partitions.filter((p, n) => states[n]?.checkpoint !== undefined || isWritten(p))
    return { ends, filled }
  }

  return {
    /**
     * Resolves with what became of each partition that holds anything, in the log or in Redis. Rejects with a RebuildError or a PreconditionError, whose message
     * says what to do, or with the signal's reason; live generations are as they were, or already the new ones.
     */
    async run(run: RebuildRun): Promise<Finished[]> {
      const { partitions, signal } = run
      signal.throwIfAborted()
      const { ends, filled } = await checkLive(run)
      const keepPace = createPace(run.recordsPerSecond, time)
      const finished: Finished[] = []
      for (const group of partitionGroups(filled, (p) => ends[p] as Offset, recordsAtOnceMax)) {
        const limits = { recordsAtOnceMax, maxRecordsPerApply }
        finished.push(...(await rebuildGroup(group, { ...dependencies, ...run, ...limits, ends, keepPace })))
      }
      const dropped = await retry(() => cleanUp(generations, partitions), {
        ...{ time, everyMs: RETRY_MS, giveUpAfterMs: CLEAN_UP_GIVE_UP_MS },
      })
      for (const leftover of dropped) log.info(leftover, 'dropped a generation that was left over')
      return finished
    },
  }
}
