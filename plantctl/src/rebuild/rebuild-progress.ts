import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatPartitions } from '@plant-store/shared/runtime/format.ts'
import { progressBar } from '../terminal/progress.ts'

export type Phase = 'filling' | 'verifying' | 'switching' | 'switched' | 'different'

/** Progress of one partition: offsets passed, of those that the log had when the rebuild started. */
export type PartitionProgress = { partition: Partition; phase: Phase; passed: number; total: number }

const SHOWN_PHASES: Phase[] = ['filling', 'verifying', 'switching']

/** The progress of all partitions of a rebuild together. */
export function createRebuildProgress(partitions: readonly Partition[], ends: readonly Offset[]) {
  const progress = new Map<Partition, PartitionProgress>()
  const total = partitions.reduce((sum, partition) => sum + (ends[partition] as Offset), 0)
  /** Offsets that an earlier rebuild had filled: they do not count for the pace. */
  const passedBefore = new Map<Partition, number>()

  function line(elapsedMs: number, columns: number): string {
    const before = [...passedBefore.values()].reduce((sum, offsets) => sum + offsets, 0)
    const passed = [...progress.values()].reduce((sum, one) => sum + Math.min(one.passed, one.total), 0)
    return progressBar({ passed, before, total, elapsedMs }, formatPhases(), columns)
  }

  function formatPhases(): string {
    const partitionsIn = (phase: Phase) =>
      [...progress.values()].filter((one) => one.phase === phase).map(({ partition }) => partition)
    const phases = SHOWN_PHASES.flatMap((phase) => {
      const inPhase = partitionsIn(phase)
      return inPhase.length === 0 ? [] : [`${phase} ${formatPartitions(inPhase)}`]
    })
    const done = partitionsIn('switched').length
    if (done > 0) phases.push(`${formatCount(done, 'partition')} done`)
    return phases.join('; ')
  }

  return {
    update(one: PartitionProgress): void {
      if (!passedBefore.has(one.partition)) passedBefore.set(one.partition, Math.min(one.passed, one.total))
      progress.set(one.partition, one)
    },
    total,
    line,
  }
}
