import { NO_PROGRESS_MS } from '@plant-store/shared/event-log/replay.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { createPace, createRebuildProgress, type Phase } from './rebuild-progress.ts'

const ends = [100, 300, 600] as Offset[]

it.each<[string, [partition: number, phase: Phase, passed: number][], object]>([
  [
    'sums up all partitions, and names their phases',
    [
      [0, 'filling', 0],
      [1, 'filling', 0],
      [0, 'switched', 100],
      [1, 'verifying', 300],
      [2, 'filling', 0],
      [2, 'filling', 150],
    ],
    { passed: 550, before: 0, what: 'filling partition 2; verifying partition 1; 1 partition done' },
  ],
  [
    'does not count what an earlier rebuild had filled as pace',
    [
      [2, 'filling', 500],
      [2, 'filling', 510],
    ],
    { passed: 510, before: 500 },
  ],
  ['does not count records that were added after the start', [[0, 'filling', 170]], { passed: 100 }],
])('the progress %s', (_what, updates, expected) => {
  const work = { what: '', passed: 0, before: 0, total: 1_000 }
  const onProgress = createRebuildProgress(work)
  for (const [partition, phase, passed] of updates)
    onProgress({ partition: partition as Partition, phase, passed, total: ends[partition] as Offset })
  expect(work).toMatchObject(expected)
})

it('the pace reports that the work is alive during a long wait, which an interruption ends', async () => {
  onTestFinished(fakeTimers())
  const startedAt = systemTime.now()
  const aliveAt = [startedAt]
  const abort = new AbortController()
  const kept = createPace(100, systemTime)(70_000, abort.signal, () => aliveAt.push(systemTime.now()))
  await vi.runAllTimersAsync()
  await kept
  expect((aliveAt.at(-1) as number) - startedAt).toBe(700_000)
  const gaps = aliveAt.slice(1).map((at, n) => at - (aliveAt[n] as number))
  expect(Math.max(...gaps)).toBeLessThan(NO_PROGRESS_MS)

  const interrupted = createPace(1, systemTime)(70_000, abort.signal, () => abort.abort())
  await vi.runAllTimersAsync()
  await interrupted
  expect(systemTime.now() - startedAt - 700_000).toBeLessThan(NO_PROGRESS_MS)
})
