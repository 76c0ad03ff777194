import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatPartitions } from '@plant-store/shared/runtime/format.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'

export type Phase = 'filling' | 'verifying' | 'switching' | 'switched' | 'different'

/** Progress of one partition: offsets passed, of those that the log had when the rebuild started. */
export type PartitionProgress = { partition: Partition; phase: Phase; passed: number; total: number }

const SHOWN_PHASES: Phase[] = ['filling', 'verifying', 'switching']

/** The progress of all partitions of a rebuild together, and their phases as text. */
export function createRebuildProgress(partitions: readonly Partition[], ends: readonly Offset[]) {
  const progress = new Map<Partition, PartitionProgress>()
  /** Offsets that an earlier rebuild had filled do not count for the pace. */
  const work = { passed: 0, before: 0, total: partitions.reduce((sum, p) => sum + (ends[p] as Offset), 0) }
  return {
    work,

    onProgress(one: PartitionProgress): void {
      const earlier = progress.get(one.partition)
      const passed = Math.min(one.passed, one.total)
      if (earlier === undefined) work.before += passed
      work.passed += passed - Math.min(earlier?.passed ?? 0, one.total)
      progress.set(one.partition, one)
    },

    phases(): string {
      const partitionsIn = (phase: Phase) =>
        [...progress.values()].filter((one) => one.phase === phase).map(({ partition }) => partition)
      const shown = SHOWN_PHASES.map((phase) => ({ phase, inPhase: partitionsIn(phase) }))
        .filter(({ inPhase }) => inPhase.length > 0)
        .map(({ phase, inPhase }) => `${phase} ${formatPartitions(inPhase)}`)
      const done = partitionsIn('switched').length
      return [...shown, ...(done > 0 ? [`${formatCount(done, 'partition')} done`] : [])].join('; ')
    },
  }
}

/** A slow pace may hold up one fetch for hours; `onAlive` is called at least this often during a wait. */
const ALIVE_EVERY_MS = 1_000

/** Limits work to a number of records per second, over all partitions; without a number it never waits. */
export function createPace(recordsPerSecond: number | undefined, time: Time) {
  let freeAt = time.now()

  /**
   * Resolves when this many more records are allowed, or when the signal is aborted. Calls `onAlive` while it waits:
   * the rebuild is not stuck, only slowed down.
   */
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
