import type { Follower } from '@plant-store/shared/event-log/follow.ts'
import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { outOfBounds } from '@plant-store/shared/protocol/checkpoint.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import type { VerifyGeneration } from '../verify/generation-verifier.ts'
import { slicesFor } from '../verify/slice.ts'
import { stuck } from './failures.ts'
import { createFill, type Fill } from './fill.ts'
import { type Finished, finish } from './finish.ts'
import { type Phase, type Progress, watchProgress } from './progress.ts'

export type GroupOptions = {
  generations: Pick<Generations, 'startFilling' | 'fill' | 'mark' | 'state' | 'switchTo' | 'drop'>
  /** Follows some partitions of the log into a record sink. */
  follow(
    sink: RecordSink,
    only: ReadonlySet<Partition>,
  ): Pick<Follower, 'start' | 'assigned' | 'reloadCheckpoints' | 'close'>
  /** Reads the next offset of each partition of the log. */
  readEnds(): Promise<Offset[]>
  /** The next offset of each partition when the rebuild started. */
  ends: readonly Offset[]
  verify: VerifyGeneration
  /** Makes a name that no generation ever had. */
  freshName(): string
  /** Makes a mark that no generation ever had. */
  freshMark(): string
  /** Waits until so many more records are allowed. */
  keepPace(records: number, signal: AbortSignal, onAlive: () => void): Promise<void>
  onProgress(progress: Progress): void
  /** Whether partitions of which Redis has nothing are filled, too. */
  fromEmpty: boolean
  /** Records folded in memory at once: about 80 bytes each with short texts, twice that while a large partition is verified. */
  recordsAtOnceMax: number
  maxRecordsPerApply: number
  /** Plants read back and compared at once; a power of two. */
  plantsPerSpan?: number | undefined
  time: Time
  log: Log
  /** Interrupts the rebuild, which then rejects with the signal's reason. The next one continues with what was filled. */
  signal: AbortSignal
}

const RETRY_MS = 250
const BEGIN_GIVE_UP_MS = 10_000

/** Rebuilds some partitions side by side, from one reading of the log. */
export async function rebuildGroup(group: readonly Partition[], options: GroupOptions): Promise<Finished[]> {
  const { follow, ends, keepPace, onProgress, time } = options
  const failed = Promise.withResolvers<never>()
  const ending = new AbortController()
  const signal = AbortSignal.any([options.signal, ending.signal])
  const phases = new Map<Partition, Phase>()
  const slice = (partition: Partition) => ({
    ...{ index: 0, count: slicesFor(ends[partition] as Offset, options.recordsAtOnceMax) },
  })
  const fills = new Map(
    group.map((partition) => [partition, createFill({ ...options, partition, slice: slice(partition) })]),
  )
  const fillOf = (partition: Partition) => fills.get(partition) as Fill

  // A begin whose answer was lost is taken up by the next one.
  const patience = { time, everyMs: RETRY_MS, giveUpAfterMs: BEGIN_GIVE_UP_MS }
  for (const fill of fills.values()) await retry(fill.begin, patience)
  // After the checkpoints: the other way round one could seem to lie beyond the end.
  const endsNow = await retry(options.readEnds, patience)
  for (const fill of fills.values())
    await retry(() => beginAnewBeyond(endsNow[fill.partition] as Offset, fill, options), patience)

  const { onAlive } = watchProgress({ time, signal, onStuck: () => failed.reject(stuck(left())) })
  const left = () => group.filter((partition) => !isDone(phases.get(partition)))

  function tell(partition: Partition, phase = phases.get(partition) ?? 'filling'): void {
    phases.set(partition, phase)
    const passed = after(fillOf(partition).standing().offset)
    onProgress({ partition, phase, passed, of: ends[partition] as Offset })
  }

  const follower = follow(
    {
      checkpointOf: async (partition) => fillOf(partition).standing(),
      async onRecords(partition, records, next, from) {
        const reached = await fillOf(partition).take(records, next, from)
        // What still comes of one that is done says nothing of the others.
        if (isDone(phases.get(partition))) return reached
        onAlive()
        tell(partition)
        await keepPace(records.length, signal, onAlive)
        return reached
      },
      onHalt: failed.reject,
    },
    new Set(group),
  )

  function refollow(partition: Partition): void {
    const at = follower.assigned()?.get(partition)
    if (at !== undefined && at.offset > fillOf(partition).standing().offset) {
      follower.reloadCheckpoints(new Map([[partition, at]]))
    }
  }

  const finishing = group.map(async (partition) => {
    const finished = await finish({
      ...options,
      ...{ fill: fillOf(partition), slice: slice(partition), refollow, onAlive, signal },
      atLeast: ((ends[partition] as Offset) - 1) as Offset,
      onPhase: (phase) => tell(partition, phase),
    })
    tell(partition, finished.is)
    if (finished.is === 'switched') await makeRoom(finished, options)
    return finished
  })
  const abort = () => failed.reject(options.signal.reason)
  options.signal.addEventListener('abort', abort)
  try {
    follower.start()
    return await Promise.race([Promise.all(finishing), failed.promise])
  } finally {
    ending.abort()
    options.signal.removeEventListener('abort', abort)
    await follower.close()
    await Promise.allSettled(finishing)
  }
}

/** What an earlier rebuild has filled beyond the end of the log is of another one. */
async function beginAnewBeyond(end: Offset, fill: Fill, { generations, log }: GroupOptions): Promise<void> {
  const { partition } = fill
  const reason = outOfBounds(fill.filled(), end)
  if (reason === undefined) return
  log.warn({ partition, generation: fill.generation(), reason }, 'what was being filled is abandoned')
  await generations.drop(partition, fill.generation(), { abandon: true })
  await fill.begin()
}

/** Drops what was replaced before the next group is filled; if that fails, the clean-up at the end does it. */
async function makeRoom(
  { partition, replaced }: { partition: Partition; replaced: string },
  { generations, log }: GroupOptions,
): Promise<void> {
  if (replaced === '') return
  await generations
    .drop(partition, replaced)
    .catch((err: unknown) => log.warn({ err, partition }, 'what was replaced is not dropped yet'))
}

const isDone = (phase: Phase | undefined) => phase === 'switched' || phase === 'different'
