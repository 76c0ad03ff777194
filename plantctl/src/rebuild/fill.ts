import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import { applyInChunks } from '@plant-store/shared/read-model/apply.ts'
import { ofSlice, type Slice } from '../verify/slice.ts'
import type { GroupOptions } from './rebuild-options.ts'

/** `slice` is folded in memory. */
export type FillOptions = GroupOptions & { partition: Partition; slice: Slice }

export type Fill = ReturnType<typeof createFill>

/**
 * Builds a new generation of one partition twice, in Redis and independently in memory by the fold itself, so that the
 * two can be compared. Each has its own checkpoint: the fold starts at the log's first offset, the generation where an
 * earlier rebuild left it.
 */
export function createFill(options: FillOptions) {
  const { partition, generations, freshName, slice, maxRecordsPerApply, plantsPerSpan } = options
  const folded = emptyPartitionOf(createPackedClaims({ plantsPerSpan }))
  let generation = ''
  let filled = BEFORE_LOG
  let queue: Promise<unknown> = Promise.resolve()
  let hasEnded = false
  let waiters: { offset: Offset; resolve: () => void }[] = []

  /** Runs work one at a time: after a rebalance, records of the previous assignment may still arrive. */
  function enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = queue.then(work)
    queue = result.catch(() => {})
    return result
  }

  /** The checkpoint that both have passed. A fold that is ahead has read this log: nothing to verify there. */
  const reached = (): Checkpoint =>
    filled.offset < folded.checkpoint.offset ? { offset: filled.offset, eventId: '' } : folded.checkpoint

  async function start(): Promise<void> {
    const started = await generations.startFilling(partition, freshName())
    // Every caller tries again.
    if (started.is === 'nameTaken')
      throw new Error(`partition ${partition}: the random name of a generation is already in use`)
    generation = started.generation
    filled = started.checkpoint
  }

  /** Compares the checkpoint with Redis by applying nothing: a failover may have set the generation back or removed it. */
  async function refresh(): Promise<void> {
    const found = await generations.fill(partition, generation, filled, filled, [])
    if (found.is === 'gone') await start()
    else if (found.is === 'stale') filled = found.checkpoint
  }

  function addToFold(records: readonly LogRecord[], next: Checkpoint): void {
    const { offset } = folded.checkpoint
    if (next.offset <= offset) return
    const later = records.filter((record) => record.offset > offset)
    fold(folded, ofSlice(slice, later))
    folded.checkpoint = next
  }

  async function addToGeneration(
    records: readonly LogRecord[],
    next: Checkpoint,
    from: Checkpoint,
  ): Promise<Checkpoint> {
    while (filled.offset < next.offset) {
      // A failover has set it back to before these records.
      if (filled.offset < from.offset) return reached()
      const { offset } = filled
      const left = records.filter((record) => record.offset > offset)
      let isGone = false
      const applied = await applyInChunks(
        async (expected, chunk, chunkEnd) => {
          const result = await generations.fill(partition, generation, expected, chunkEnd, chunk)
          isGone ||= result.is === 'gone'
          if (result.is === 'applied') return chunkEnd
          return result.is === 'stale' ? result.checkpoint : expected
        },
        filled,
        left,
        next,
        maxRecordsPerApply,
      )
      if (isGone) await start()
      else filled = applied
    }
    return next
  }

  function resolveWaiters(): void {
    const { offset } = reached()
    for (const { resolve } of waiters.filter((one) => one.offset <= offset)) resolve()
    waiters = waiters.filter((one) => one.offset > offset)
  }

  return {
    partition,
    folded,
    generation: (): string => generation,

    /** The checkpoint of the generation. */
    filled: (): Checkpoint => filled,

    reached,

    start: () => enqueue(start),
    refresh: () => enqueue(refresh),

    /** Adds the records after `from` up to `next`; resolves with the checkpoint to continue from. */
    add: (records: readonly LogRecord[], next: Checkpoint, from: Checkpoint): Promise<Checkpoint> =>
      enqueue(async () => {
        if (hasEnded) return next
        addToFold(records, next)
        const checkpoint = await addToGeneration(records, next, from)
        resolveWaiters()
        return checkpoint
      }),

    /** Runs work while no records are added. */
    exclusively: enqueue,

    /** From now on records are ignored; frees the memory of the fold. */
    end: () =>
      enqueue(async () => {
        hasEnded = true
        folded.plants.clear()
        folded.parked.clear()
      }),

    /** Resolves when both have passed this offset. */
    untilReached(offset: Offset): Promise<void> {
      if (reached().offset >= offset) return Promise.resolve()
      return new Promise((resolve) => waiters.push({ offset, resolve }))
    },
  }
}
