import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { partitionsNamed } from '../terminal/partitions-named.ts'
import { progressBar } from '../terminal/progress-bar.ts'
import { counted } from '../terminal/quantity.ts'
import type { Phase, Progress } from './progress.ts'

const SHOWN_PHASES: Phase[] = ['filling', 'verifying', 'switching']

/** How far a rebuild of some partitions is, all together. */
export function createRebuildProgress(partitions: readonly Partition[], ends: readonly Offset[]) {
  const progress = new Map<Partition, Progress>()
  const of = partitions.reduce((sum, partition) => sum + (ends[partition] as Offset), 0)
  /** What was there already when the first was told: a rebuild that goes on did not read that now. */
  const begunAt = new Map<Partition, number>()

  function passed(): number {
    return [...progress.values()].reduce((sum, { passed, of }) => sum + Math.min(passed, of), 0)
  }

  return {
    note(told: Progress): void {
      if (!begunAt.has(told.partition)) begunAt.set(told.partition, Math.min(told.passed, told.of))
      progress.set(told.partition, told)
    },
    of,

    line(elapsedMs: number, columns: number): string {
      const before = [...begunAt.values()].reduce((sum, offsets) => sum + offsets, 0)
      return progressBar({ passed: passed(), before, of, elapsedMs }, phases(), columns)
    },
  }

  function phases(): string {
    const told = SHOWN_PHASES.flatMap((phase) => {
      const some = [...progress.values()]
        .filter((one) => one.phase === phase)
        .map(({ partition }) => partition)
      return some.length === 0 ? [] : [`${phase} ${partitionsNamed(some)}`]
    })
    const done = [...progress.values()].filter(({ phase }) => phase === 'switched').length
    if (done > 0) told.push(`${counted(done, 'partition')} done`)
    return told.join('; ')
  }
}
