import { startWatchdog } from '@plant-store/shared/event-log/replay.ts'
import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { outOfBounds } from '@plant-store/shared/protocol/checkpoint.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { abortable } from '@plant-store/shared/runtime/time.ts'
import type { Slice, SlicedGroup } from '../verify/slice.ts'
import { createFill, type Fill } from './fill.ts'
import { finishPartition, type PartitionResult } from './finish.ts'
import { noProgress, RETRYING } from './rebuild-error.ts'
import type { GroupOptions } from './rebuild-options.ts'
import type { Phase } from './rebuild-progress.ts'

export async function rebuildGroup({ group, slices }: SlicedGroup, options: GroupOptions): Promise<PartitionResult[]> {
  const { follow, ends, keepPace, onProgress, time } = options
  const failed = Promise.withResolvers<never>()
  const ending = new AbortController()
  const signal = AbortSignal.any([options.signal, ending.signal])
  const phases = new Map<Partition, Phase>()
  const [slice] = slices as [Slice]
  const fills = new Map(group.map((partition) => [partition, createFill({ ...options, partition, slice })]))
  const fillOf = (partition: Partition) => fills.get(partition) as Fill
  await startFills([...fills.values()], options)

  const unfinished = () => group.filter((partition) => !isDone(phases.get(partition)))
  const { onAlive } = startWatchdog(time, signal, () => failed.reject(noProgress(unfinished())))

  function showProgress(partition: Partition, phase = phases.get(partition) ?? 'filling'): void {
    phases.set(partition, phase)
    const passed = after(fillOf(partition).reached().offset)
    onProgress({ partition, phase, passed, total: ends[partition] as Offset })
  }

  const follower = follow(
    {
      checkpointOf: async (partition) => fillOf(partition).reached(),
      async onRecords(partition, records, next, from) {
        if (!isDone(phases.get(partition))) await keepPace(records.length, signal, onAlive)
        // An interruption ends the wait before the pace allows these records.
        if (signal.aborted) return from
        const reached = await fillOf(partition).add(records, next, from)
        // Records of a partition that is done are no progress of the others.
        if (isDone(phases.get(partition))) return reached
        onAlive()
        showProgress(partition)
        return reached
      },
      onHalt: failed.reject,
    },
    new Set(group),
  )

  function refollow(partition: Partition): void {
    const cursor = follower.assigned()?.get(partition)
    if (cursor !== undefined && cursor.offset > fillOf(partition).reached().offset) {
      follower.reloadCheckpoints(new Map([[partition, cursor]]))
    }
  }

  const finishing = group.map(async (partition) => {
    const result = await finishPartition({
      ...options,
      fill: fillOf(partition),
      slice,
      refollow,
      onAlive,
      signal,
      onPhase: (phase) => showProgress(partition, phase),
    })
    showProgress(partition, result.is)
    if (result.is === 'switched') await dropReplaced(result, options)
    return result
  })
  try {
    follower.start()
    return await abortable(Promise.race([Promise.all(finishing), failed.promise]), options.signal)
  } finally {
    ending.abort()
    await follower.close()
    await Promise.allSettled(finishing)
  }
}

/** Starts new generations, or continues the generations of an earlier rebuild. */
async function startFills(fills: readonly Fill[], options: GroupOptions): Promise<void> {
  const { readEnds, time } = options
  // If the response to a start is lost, the retry continues the same generation.
  const retrying = { time, ...RETRYING }
  for (const fill of fills) await retry(fill.start, retrying)
  // After the checkpoints: in the reverse order a checkpoint could appear to be beyond the end.
  const ends = await retry(readEnds, retrying)
  for (const fill of fills) await retry(() => restartBeyondEnd(fill, ends[fill.partition] as Offset, options), retrying)
}

/** A generation that an earlier rebuild filled beyond the end of the log is of another log. */
async function restartBeyondEnd(fill: Fill, end: Offset, { generations, log }: GroupOptions): Promise<void> {
  const { partition } = fill
  const reason = outOfBounds(fill.filled(), end)
  if (reason === undefined) return
  log.warn({ partition, generation: fill.generation(), reason }, 'the partly filled generation is abandoned')
  await generations.drop(partition, fill.generation(), { abandon: true })
  await fill.start()
}

/** Frees memory before the next group is filled; if this fails, the clean-up at the end drops the generation. */
async function dropReplaced(
  { partition, replaced }: { partition: Partition; replaced: string },
  { generations, log }: GroupOptions,
): Promise<void> {
  if (replaced === '') return
  await generations
    .drop(partition, replaced)
    .catch((err: unknown) => log.warn({ err, partition }, 'the replaced generation is not dropped yet'))
}

const isDone = (phase: Phase | undefined) => phase === 'switched' || phase === 'different'
