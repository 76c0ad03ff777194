import { after, BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import type { Difference } from '../verify/difference.ts'
import type { Cut, VerifyGeneration } from '../verify/generation-verifier.ts'
import type { Slice } from '../verify/slice.ts'
import { isFinal, neverQuiet, nothingOf, RebuildError } from './failures.ts'
import type { Fill } from './fill.ts'
import type { Phase } from './progress.ts'

/** What became of a partition. */
export type Finished =
  | { is: 'switched'; partition: Partition; generation: string; replaced: string }
  /** Nothing was switched; the generation is gone. */
  | { is: 'different'; partition: Partition; generation: string; differences: Difference[] }

export type FinishOptions = {
  fill: Fill
  slice: Slice
  generations: Pick<Generations, 'mark' | 'state' | 'switchTo' | 'drop'>
  verify: VerifyGeneration
  /** The last offset that the log had when the rebuild began. */
  atLeast: Offset
  /** Whether a partition may have no live generation. */
  fromEmpty: boolean
  /** Makes a mark that no generation ever had. */
  freshMark(): string
  /** Has the log followed from where the fill stands, should that be further back than where it is followed. */
  refollow(partition: Partition): void
  onPhase(phase: Phase): void
  onAlive(): void
  time: Time
  log: Log
  signal: AbortSignal
}

/** Where a generation stands is looked at again so often while nothing comes. */
const LOOK_EVERY_MS = 1_000
const RETRY_MS = 250
const VERIFICATIONS_MAX = 20
/** Between two of these the live one was written to; each takes one call of a script. */
const SWITCHES_MAX = 1_000

/**
 * Waits until a generation has caught up with the live one, verifies it, and switches to it. Whatever fails is begun
 * again from what Redis then has. Rejects when it can't succeed, or is broken off.
 */
export async function finish(options: FinishOptions): Promise<Finished> {
  const { fill, generations, verify, fromEmpty, freshMark, refollow, onPhase, time, log, signal } = options
  const { partition } = fill
  let verifications = 0
  let isDoubted = false
  let refused: Finished | undefined

  while (true) {
    signal.throwIfAborted()
    try {
      const finished = await attempt()
      if (finished !== undefined) return finished
    } catch (error) {
      if (isFinal(error) || signal.aborted) throw error
      log.warn({ err: error, partition }, 'the rebuild of a partition was held up; it goes on')
      await delay(time, RETRY_MS, signal)
    }
  }

  /** Undefined when it is to be begun again. */
  async function attempt(): Promise<Finished | undefined> {
    if (refused !== undefined) return abandon(refused)
    const live = await generations.state(partition)
    if (live.live !== '' && live.live === fill.generation()) return switched(live.live, '')
    if (live.checkpoint === undefined && !fromEmpty) throw new RebuildError(nothingOf([partition]))
    const goal = Math.max(options.atLeast, live.checkpoint?.offset ?? BEFORE_FIRST) as Offset
    if (!(await arrive(goal))) return undefined
    return verifyAndSwitch()
  }

  /** Whether fold and generation have come so far; when not after a while, what Redis has is looked at again. */
  async function arrive(goal: Offset): Promise<boolean> {
    if (fill.standing().offset >= goal) return true
    onPhase('filling')
    await untilAt(goal)
    if (fill.standing().offset >= goal) return true
    await fill.look()
    refollow(partition)
    return false
  }

  function untilAt(goal: Offset): Promise<void> {
    return new Promise((resolve) => {
      const takeBack = time.after(LOOK_EVERY_MS, resolve)
      void fill.untilAt(goal).then(() => {
        takeBack()
        resolve()
      })
    })
  }

  async function verifyAndSwitch(): Promise<Finished | undefined> {
    if (verifications++ === VERIFICATIONS_MAX) throw new RebuildError(neverQuiet(partition))
    onPhase('verifying')
    const mark = freshMark()
    const cut = await takeCut(mark)
    if (cut === undefined) {
      await fill.look()
      refollow(partition)
      await untilAt(after(fill.standing().offset))
      return undefined
    }
    const generation = cut.found.generation
    const differences = await verify(partition, generation, fill.folded, cut, {
      ...{ onRead: options.onAlive, signal },
    })
    if (differences.length > 0) return refuse(generation, mark, differences)
    return switchOver(cut, mark)
  }

  /** Marks the generation and takes the cut, between two batches; undefined when fold and generation stand elsewhere. */
  function takeCut(mark: string): Promise<Cut | undefined> {
    return fill.hold(async () => {
      const generation = fill.generation()
      const marked = await generations.mark(partition, generation, mark)
      if (marked.is !== 'marked') return undefined
      const found = await generations.state(partition, generation)
      const { checkpoint, plants, voids, parked } = fill.folded
      if (found.checkpoint?.offset !== checkpoint.offset || found.mark !== mark) return undefined
      const counts = { plants: plants.size, voids, parked: parked.size }
      return { checkpoint, slice: options.slice, counts, found }
    })
  }

  /**
   * A failover in between shows parts of two states, that both may have the mark. So what differs counts only with the
   * mark still there, and when another verification finds differences, too.
   */
  async function refuse(
    generation: string,
    mark: string,
    differences: Difference[],
  ): Promise<Finished | undefined> {
    const { mark: found } = await generations.state(partition, generation)
    if (found !== mark) return undefined
    if (!isDoubted) {
      isDoubted = true
      return undefined
    }
    // Else what is dropped would be begun anew.
    await fill.end()
    refused = { is: 'different', partition, generation, differences }
    return abandon(refused)
  }

  async function abandon(difference: Finished): Promise<Finished> {
    await generations.drop(partition, difference.generation, { abandon: true })
    return difference
  }

  async function switchOver({ checkpoint, found }: Cut, mark: string): Promise<Finished | undefined> {
    const { generation, live: expectedLive } = found
    onPhase('switching')
    for (let n = 0; n < SWITCHES_MAX; n++) {
      signal.throwIfAborted()
      const answer = await generations.switchTo(partition, {
        ...{ generation, mark, expectedLive, verified: checkpoint.offset },
      })
      options.onAlive()
      if (answer.is === 'switched') return switched(generation, expectedLive)
      log.info({ partition, generation, answer }, 'the switch is not possible yet')
      if (answer.is !== 'behind') return undefined
      await untilAt(answer.live)
    }
    throw new RebuildError(neverQuiet(partition))
  }

  async function switched(generation: string, replaced: string): Promise<Finished> {
    await fill.end()
    return { is: 'switched', partition, generation, replaced }
  }
}
