import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { applyInChunks } from '@plant-store/shared/read-model/apply.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { createFoldedPlants } from '../verify/folded-plants.ts'
import { ofSlice, type Slice } from '../verify/slice.ts'

export type FillOptions = {
  partition: Partition
  generations: Pick<Generations, 'startFilling' | 'fill' | 'state'>
  /** Makes a name that no generation ever had. */
  freshName(): string
  /** The part of the ids that the fold in memory keeps. */
  slice: Slice
  maxRecordsPerApply: number
  plantsPerSpan?: number | undefined
}

const NAMES_MAX = 3

export type Fill = ReturnType<typeof createFill>

/**
 * Makes one generation of one partition, twice: in Redis, and apart from it in memory, by the rule itself, to compare
 * the two. Each has its own checkpoint: the fold begins at the log's first offset, the generation where an earlier
 * rebuild left it.
 */
export function createFill(options: FillOptions) {
  const { partition, generations, freshName, slice, maxRecordsPerApply, plantsPerSpan } = options
  const folded = emptyPartitionOf(createFoldedPlants({ plantsPerSpan }))
  let generation = ''
  let filled: Checkpoint = { offset: BEFORE_FIRST, eventId: '' }
  let turn: Promise<unknown> = Promise.resolve()
  let hasEnded = false
  let waiting: { offset: Offset; resolve: () => void }[] = []

  /** One at a time: after a rebalance the records of before may still be on their way. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work)
    turn = result.catch(() => {})
    return result
  }

  /** Behind the fold no event is named: that this is the log that was folded, the fold has seen. */
  const standing = (): Checkpoint =>
    filled.offset < folded.checkpoint.offset ? { offset: filled.offset, eventId: '' } : folded.checkpoint

  async function begin(): Promise<void> {
    for (let n = 0; n < NAMES_MAX; n++) {
      const begun = await generations.startFilling(partition, freshName())
      if (begun.is === 'nameTaken') continue
      generation = begun.generation
      filled = begun.checkpoint
      return
    }
    throw new Error(`partition ${partition}: ${NAMES_MAX} names for a generation that should be new were not`)
  }

  /** Where the generation stands in Redis: a failover may have set it back, or taken it. */
  async function look(): Promise<void> {
    const { checkpoint } = await generations.state(partition, generation)
    if (checkpoint === undefined) await begin()
    else filled = checkpoint
  }

  function foldIn(records: readonly LogRecord[], next: Checkpoint): void {
    const { offset } = folded.checkpoint
    if (next.offset <= offset) return
    fold(folded, ofSlice(slice, after(records, offset)))
    folded.checkpoint = next
  }

  async function fillIn(
    records: readonly LogRecord[],
    next: Checkpoint,
    from: Checkpoint,
  ): Promise<Checkpoint> {
    while (filled.offset < next.offset) {
      // It fell back behind these records.
      if (filled.offset < from.offset) return standing()
      const left = after(records, filled.offset)
      let isGone = false
      const reached = await applyInChunks(
        async (expected, chunk, chunkEnd) => {
          const answer = await generations.fill(partition, generation, expected, chunkEnd, chunk)
          isGone ||= answer.is === 'gone'
          if (answer.is === 'applied') return chunkEnd
          return answer.is === 'stale' ? answer.checkpoint : expected
        },
        filled,
        left,
        next,
        maxRecordsPerApply,
      )
      if (isGone) await begin()
      else filled = reached
    }
    return next
  }

  function tellWaiting(): void {
    const { offset } = standing()
    for (const { resolve } of waiting.filter((one) => one.offset <= offset)) resolve()
    waiting = waiting.filter((one) => one.offset > offset)
  }

  return {
    partition,
    folded,
    generation: (): string => generation,

    /** How far the generation has come. */
    filled: (): Checkpoint => filled,

    /** How far both have come. */
    standing,

    begin: () => inTurn(begin),
    look: () => inTurn(look),

    /** Takes in what follows `from` up to `next`; tells the checkpoint to go on from, as an sink does. */
    take: (records: readonly LogRecord[], next: Checkpoint, from: Checkpoint): Promise<Checkpoint> =>
      inTurn(async () => {
        if (hasEnded) return next
        foldIn(records, next)
        const reached = await fillIn(records, next, from)
        tellWaiting()
        return reached
      }),

    /** While this works, nothing is taken in. */
    hold: inTurn,

    /** From now on nothing is taken in, and nothing is kept in memory. */
    end: () =>
      inTurn(async () => {
        hasEnded = true
        folded.plants.clear()
        folded.parked.clear()
      }),

    /** Resolves when both have come so far. */
    untilAt(offset: Offset): Promise<void> {
      if (standing().offset >= offset) return Promise.resolve()
      return new Promise((resolve) => waiting.push({ offset, resolve }))
    },
  }
}

/** Those that come after an offset. */
function after(records: readonly LogRecord[], offset: Offset): readonly LogRecord[] {
  const first = records.findIndex((record) => record.offset > offset)
  return first === -1 ? [] : records.slice(first)
}
