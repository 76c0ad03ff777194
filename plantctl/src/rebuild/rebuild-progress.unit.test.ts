import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import type { Phase } from './progress.ts'
import { createRebuildProgress } from './rebuild-progress.ts'

const ends = [100, 300, 600] as Offset[]

function standingAfter(told: [partition: number, phase: Phase, passed: number][]) {
  const standing = createRebuildProgress(allPartitions(3), ends)
  for (const [partition, phase, passed] of told) {
    standing.note({ partition: partition as Partition, phase, passed, of: ends[partition] as Offset })
  }
  return standing
}

it('it tells how far all partitions are together, and which do what', () => {
  const standing = standingAfter([
    [0, 'filling', 0],
    [1, 'filling', 0],
    [0, 'switched', 100],
    [1, 'verifying', 300],
    [2, 'filling', 0],
    [2, 'filling', 150],
  ])
  expect(standing.of).toBe(1_000)
  expect(standing.line(1_000, 80)).toBe(
    '[#############-----------]  55 %  550 of 1,000 events, 550/s, 0.8 s left  filling partition 2; verifying partition 1; 1 partition done',
  )
})

it('what an earlier rebuild had done does not count for the pace', () => {
  const standing = standingAfter([
    [2, 'filling', 500],
    [2, 'filling', 510],
  ])
  expect(standing.line(1_000, 60)).toMatch(/510 of 1,000 events, 10\/s/)
})

it('what came in since it began is not among what there was', () => {
  expect(standingAfter([[0, 'filling', 170]]).line(1_000, 60)).toMatch(/^ 10 % {2}100 of 1,000/)
})
