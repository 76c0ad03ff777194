import { NO_PROGRESS_MS } from '@plant-store/shared/event-log/replay.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { progressBar } from '../terminal/progress.ts'
import { createPace, createRebuildProgress, type Phase } from './rebuild-progress.ts'

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

it('the pace reports that the work is alive during a long wait', async () => {
  onTestFinished(fakeTimers())
  const startedAt = systemTime.now()
  const aliveAt = [startedAt]
  const pace = createPace(100, systemTime)
  const kept = pace(70_000, new AbortController().signal, () => aliveAt.push(systemTime.now()))
  await vi.runAllTimersAsync()
  await kept
  expect((aliveAt.at(-1) as number) - startedAt).toBe(700_000)
  const gaps = aliveAt.slice(1).map((at, n) => at - (aliveAt[n] as number))
  expect(Math.max(...gaps)).toBeLessThan(NO_PROGRESS_MS)
})

it('the pace does not delay an interruption', async () => {
  onTestFinished(fakeTimers())
  const startedAt = systemTime.now()
  const abort = new AbortController()
  const kept = createPace(1, systemTime)(70_000, abort.signal, () => abort.abort())
  await vi.runAllTimersAsync()
  await kept
  expect(systemTime.now() - startedAt).toBeLessThan(NO_PROGRESS_MS)
})
