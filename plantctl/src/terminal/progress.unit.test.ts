import { expect, it, onTestFinished, vi } from 'vitest'
import type { CliContext } from '../cli-context.ts'
import { progressBar, withProgress } from './progress.ts'

it.each([
  [500_000, 2_000_000, '[######------------------]  25 %  500,000 of 2,000,000 events, 125,000/s, 12 s left  what'],
  [0, 0, '[########################] 100 %  0 of 0 events  what'],
  [0, 10, '[------------------------]   0 %  0 of 10 events  what'],
  // More is passed than there was at the start.
  [12, 10, '[########################] 100 %  12 of 10 events, 3/s  what'],
])('of %d of %d records shows the share, the pace and the time left', (passed, total, line) => {
  expect(progressBar({ what: 'what', passed, before: 0, total }, 4_000, 120)).toBe(line)
})

it('begins again with work that starts again, and draws nothing after its end', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const drawn: string[] = []
  const context = { stderrIsTerminal: false, stderrColumns: 100, printError: (text: string) => void drawn.push(text) }
  await withProgress(context as CliContext, 'checking', async ({ onStart, onRead }) => {
    onStart(10)
    onRead(10)
    onStart(20)
    vi.advanceTimersByTime(6_000)
  })
  vi.advanceTimersByTime(60_000)
  expect(drawn).toEqual([expect.stringContaining('  0 %  0 of 20 events')])
})
