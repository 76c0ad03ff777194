import { after, BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { delay, within } from '@plant-store/shared/runtime/time.ts'
import type { Difference } from '../verify/difference.ts'
import { countsOf, type Snapshot, verifyGeneration } from '../verify/generation-comparison.ts'
import type { ReadLog, Slice } from '../verify/slice.ts'
import type { Fill } from './fill.ts'
import { isFinal, neverStable, nothingLive } from './rebuild-error.ts'
import type { GroupOptions } from './rebuild-options.ts'
import type { Phase } from './rebuild-progress.ts'

export type PartitionResult =
  | { is: 'switched'; partition: Partition; generation: string; replaced: string }
  /** The new generation was dropped; the live one is unchanged. */
  | { is: 'different'; partition: Partition; generation: string; differences: Difference[] }

export type FinishOptions = GroupOptions & {
  fill: Fill
  slice: Slice
  /** Moves the follower back to the checkpoint of the fill if it is ahead of it. */
  refollow(partition: Partition): void
  onPhase(phase: Phase): void
  onAlive(): void
}

/** Without progress the checkpoint is read again from Redis after this time. */
const REFRESH_EVERY_MS = 1_000
const RETRY_MS = 250
const VERIFICATIONS_MAX = 20
/** Each failed switch means that the live generation has moved on; each costs one call of a script. */
const SWITCHES_MAX = 1_000

/**
 * Waits until the new generation has caught up with the live one, verifies it, and switches to it. After an error it
 * starts again from the state in Redis. Rejects when it cannot succeed or is interrupted.
 */
export async function finishPartition(options: FinishOptions): Promise<PartitionResult> {
  const { fill, generations, fromEmpty, freshName, refollow, onPhase, onAlive, ends, time, log, signal } = options
  const { partition } = fill
  const read = options.readerOfLog(signal, onAlive)
  /** The last offset of the log when the rebuild started. */
  const atLeast = (ends[partition] as Offset) - 1
  let verifications = 0
  let isDoubted = false
  let rejected: PartitionResult | undefined

  while (true) {
    signal.throwIfAborted()
    try {
      const result = await attempt()
      if (result !== undefined) return result
    } catch (error) {
      if (isFinal(error) || signal.aborted) throw error
      log.warn({ err: error, partition }, 'the rebuild of a partition failed and is retried')
      await delay(time, RETRY_MS, signal)
    }
  }

  /** Undefined when another attempt is needed. */
  async function attempt(): Promise<PartitionResult | undefined> {
    if (rejected !== undefined) return drop(rejected)
    const live = await generations.state(partition)
    if (live.live !== '' && live.live === fill.generation()) return switched(live.live, '')
    if (live.texts.checkpoint === '' && !fromEmpty) throw nothingLive([partition])
    const goal = Math.max(atLeast, live.checkpoint?.offset ?? BEFORE_FIRST) as Offset
    if (!(await reach(goal))) return undefined
    return verifyAndSwitch()
  }

  /** Returns true once fold and generation have passed the goal. After a timeout, reads the state in Redis again. */
  async function reach(goal: Offset): Promise<boolean> {
    if (fill.reached().offset >= goal) return true
    onPhase('filling')
    await untilReached(goal)
    if (fill.reached().offset >= goal) return true
    await fill.refresh()
    refollow(partition)
    return false
  }

  function untilReached(goal: Offset): Promise<void> {
    return within(REFRESH_EVERY_MS, fill.untilReached(goal), time)
  }

  async function verifyAndSwitch(): Promise<PartitionResult | undefined> {
    if (verifications++ === VERIFICATIONS_MAX) throw neverStable(partition)
    onPhase('verifying')
    const mark = freshName()
    const snapshot = await takeSnapshot(mark)
    if (snapshot === undefined) {
      await fill.refresh()
      refollow(partition)
      await untilReached(after(fill.reached().offset))
      return undefined
    }
    const differences = await verifyGeneration(generations, snapshot, {
      partitions: ends.length,
      read: readAtPace,
      onRead: onAlive,
    })
    if (differences.length > 0) return reject(snapshot.state.generation, mark, differences)
    return switchOver(snapshot, mark)
  }

  function readAtPace(...[ranges, onRecords]: Parameters<ReadLog>): Promise<void> {
    return read(ranges, async (partition, records, reached) => {
      await onRecords(partition, records, reached)
      await options.keepPace(records.length, signal, onAlive)
    })
  }

  /** Marks the generation and takes a snapshot between two batches; undefined when fold and generation are apart. */
  function takeSnapshot(mark: string): Promise<Snapshot | undefined> {
    return fill.exclusively(async () => {
      const generation = fill.generation()
      const marked = await generations.mark(partition, generation, mark)
      if (marked.is !== 'marked') return undefined
      const state = await generations.state(partition, generation)
      const fold = fill.folded
      const { checkpoint } = fold
      if (state.checkpoint?.offset !== checkpoint.offset || state.mark !== mark) return undefined
      return { partition, checkpoint, slice: options.slice, fold, counts: countsOf(fold), state }
    })
  }

  /**
   * A failover during the verification shows parts of two states that may both have the mark. Differences therefore
   * count only if the mark is still there, the generation whole, and a second verification finds differences, too.
   */
  async function reject(
    generation: string,
    mark: string,
    differences: Difference[],
  ): Promise<PartitionResult | undefined> {
    const { mark: found } = await generations.state(partition, generation)
    await fill.refresh()
    if (found !== mark || fill.generation() !== generation) return undefined
    if (!isDoubted) {
      isDoubted = true
      return undefined
    }
    // Otherwise records that still arrive would start the dropped generation again.
    await fill.end()
    rejected = { is: 'different', partition, generation, differences }
    return drop(rejected)
  }

  async function drop(result: PartitionResult): Promise<PartitionResult> {
    await generations.drop(partition, result.generation, { abandon: true })
    return result
  }

  async function switchOver({ checkpoint, state }: Snapshot, mark: string): Promise<PartitionResult | undefined> {
    const { generation, live: expectedLive } = state
    onPhase('switching')
    for (let n = 0; n < SWITCHES_MAX; n++) {
      signal.throwIfAborted()
      const result = await generations.switchTo(partition, {
        generation,
        mark,
        expectedLive,
        verified: checkpoint.offset,
      })
      onAlive()
      if (result.is === 'switched') return switched(generation, expectedLive)
      log.info({ partition, generation, result }, 'the switch is not possible yet')
      if (result.is !== 'behind') return undefined
      await untilReached(result.live)
    }
    throw neverStable(partition)
  }

  async function switched(generation: string, replaced: string): Promise<PartitionResult> {
    await fill.end()
    return { is: 'switched', partition, generation, replaced }
  }
}
