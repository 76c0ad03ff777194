import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { progressBar } from '../terminal/progress.ts'
import { createRebuildProgress, type Phase } from './rebuild-progress.ts'

const ends = [100, 300, 600] as Offset[]

function progressAfter(updates: [partition: number, phase: Phase, passed: number][]) {
  const work = { what: '', passed: 0, before: 0, total: 1_000 }
  const onProgress = createRebuildProgress(work)
  for (const [partition, phase, passed] of updates)
    onProgress({ partition: partition as Partition, phase, passed, total: ends[partition] as Offset })
  return { line: (elapsedMs: number, columns: number) => progressBar(work, elapsedMs, columns) }
}

it('shows the progress of all partitions together, and their phases', () => {
  const progress = progressAfter([
    [0, 'filling', 0],
    [1, 'filling', 0],
    [0, 'switched', 100],
    [1, 'verifying', 300],
    [2, 'filling', 0],
    [2, 'filling', 150],
  ])
  expect(progress.line(1_000, 80)).toBe(
    '[#############-----------]  55 %  550 of 1,000 events, 550/s, 0.8 s left  filling partition 2; verifying partition 1; 1 partition done',
  )
})

it('does not count what an earlier rebuild had filled as pace', () => {
  const progress = progressAfter([
    [2, 'filling', 500],
    [2, 'filling', 510],
  ])
  expect(progress.line(1_000, 60)).toMatch(/510 of 1,000 events, 10\/s/)
})

it('does not count records that were added after the start', () => {
  expect(progressAfter([[0, 'filling', 170]]).line(1_000, 60)).toMatch(/^ 10 % {2}100 of 1,000/)
})
