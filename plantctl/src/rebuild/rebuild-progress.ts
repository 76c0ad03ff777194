import type { Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatPartitions } from '@plant-store/shared/runtime/format.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import type { Work } from '../terminal/progress.ts'

export type Phase = 'filling' | 'verifying' | 'switching' | 'switched' | 'different'

/** Progress of one partition: offsets passed, of those that the log had when the rebuild started. */
export type PartitionProgress = { partition: Partition; phase: Phase; passed: number; total: number }

const SHOWN_PHASES: Phase[] = ['filling', 'verifying', 'switching']

/** Sums up the progress of all partitions of a rebuild, and describes their phases. */
export function createRebuildProgress(work: Work) {
  const progress = new Map<Partition, PartitionProgress>()
  return (one: PartitionProgress): void => {
    const earlier = progress.get(one.partition)
    const passed = Math.min(one.passed, one.total)
    // Offsets that an earlier rebuild had filled do not count for the pace.
    if (earlier === undefined) work.before += passed
    work.passed += passed - Math.min(earlier?.passed ?? 0, one.total)
    progress.set(one.partition, one)
    work.what = phasesOf([...progress.values()])
  }
}

function phasesOf(progress: readonly PartitionProgress[]): string {
  const inPhase = Map.groupBy(progress, ({ phase }) => phase)
  const shown = SHOWN_PHASES.flatMap((phase) => {
    const partitions = inPhase.get(phase)?.map(({ partition }) => partition)
    return partitions === undefined ? [] : [`${phase} ${formatPartitions(partitions)}`]
  })
  const done = inPhase.get('switched')?.length ?? 0
  return [...shown, ...(done > 0 ? [`${formatCount(done, 'partition')} done`] : [])].join('; ')
}

/** A slow pace may hold up one fetch for hours; `onAlive` is called at least this often during a wait. */
const ALIVE_EVERY_MS = 1_000

/** Limits work to a number of records per second, over all partitions; without a number it never waits. */
export function createPace(recordsPerSecond: number | undefined, time: Time) {
  let freeAt = time.now()

  /** Resolves when this many more are allowed, or aborted. Meanwhile `onAlive`: it is slow, not stuck. */
  return async function keepPace(records: number, signal: AbortSignal, onAlive: () => void): Promise<void> {
    if (recordsPerSecond === undefined || records === 0) return
    freeAt = Math.max(freeAt, time.now()) + (records / recordsPerSecond) * 1_000
    const until = freeAt
    while (time.now() < until && !signal.aborted) {
      await delay(time, Math.min(until - time.now(), ALIVE_EVERY_MS), signal)
      onAlive()
    }
  }
}
