import { assertWithinBounds } from '@plant-store/shared/event-log/log-identity.ts'
import { FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { inSlices } from '../verify/slice.ts'
import type { PartitionResult } from './finish.ts'
import { rebuildGroup } from './group.ts'
import { nothingLive, RETRYING } from './rebuild-error.ts'
import type { RebuildOptions } from './rebuild-options.ts'
import { createPace } from './rebuild-progress.ts'

const RECORDS_FOLDED_MAX = 2_000_000

/**
 * Rebuilds partitions of the read model from the log while they serve. Each gets a new generation: it is filled from
 * the log's first offset, compared with an independent fold, and made live by a switch that accepts only the verified
 * state.
 *
 * Resolves with the result of each partition that has anything in the log or in Redis. Rejects with a RebuildError or a
 * PreconditionError, whose message names the remedy, or with the signal's reason. Live generations are then unchanged or
 * already the new ones.
 */
export async function rebuildPartitions(options: RebuildOptions): Promise<PartitionResult[]> {
  const { partitions, fromEmpty, signal, generations, readEnds, time, log } = options
  const { recordsAtOnceMax = RECORDS_FOLDED_MAX } = options
  signal.throwIfAborted()
  const { ends, filled } = await checkLive()
  const keepPace = createPace(options.recordsPerSecond, time)
  const results: PartitionResult[] = []
  for (const group of inSlices(filled, ends, recordsAtOnceMax))
    results.push(...(await rebuildGroup(group, { ...options, ends, keepPace })))
  await retry(dropLeftovers, { time, ...RETRYING })
  return results

  /**
   * Resolves with the partitions that have anything to rebuild, and the ends of the log. Throws when nothing is live of
   * a partition to be replaced, or when its read model is of another log.
   */
  async function checkLive() {
    const states = await Promise.all(partitions.map((partition) => generations.state(partition)))
    // After the checkpoints: in the reverse order a checkpoint could appear to be beyond the end.
    const ends = await readEnds()
    const isWritten = (partition: Partition) => (ends[partition] as Offset) > FIRST
    const isEmpty = (n: number) => !states[n]?.texts.checkpoint
    const empty = partitions.filter((p, n) => isEmpty(n) && isWritten(p))
    if (empty.length > 0 && !fromEmpty) throw nothingLive(empty)
    for (const [n, partition] of partitions.entries()) {
      const checkpoint = states[n]?.checkpoint
      if (checkpoint !== undefined) assertWithinBounds([[partition, checkpoint]], ends)
    }
    const filled = partitions.filter((p, n) => !isEmpty(n) || isWritten(p))
    return { ends, filled }
  }

  /**
   * Drops each generation of these partitions that is neither live nor being filled: replaced ones, those that an
   * interrupted rebuild left behind, and those that a failover restored.
   */
  async function dropLeftovers(): Promise<void> {
    for (const { partition, names } of (await generations.list()).partitions) {
      if (!partitions.includes(partition)) continue
      for (const generation of names) {
        // The script refuses to drop a generation that is live or being filled at that moment.
        const result = await generations.drop(partition, generation)
        if (result.is === 'dropped') log.info({ partition, generation }, 'dropped a leftover generation')
      }
    }
  }
}
