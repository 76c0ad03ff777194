import { expect, it, onTestFinished, vi } from 'vitest'
import type { CliContext } from '../cli-context.ts'
import { progressBar, withProgress } from './progress.ts'

it('shows the share, the pace and the time left', () => {
  const work = { what: 'filling partition 3', passed: 500_000, before: 0, total: 2_000_000 }
  expect(progressBar(work, 4_000, 120)).toBe(
    '[######------------------]  25 %  500,000 of 2,000,000 events, 125,000/s, 12 s left  filling partition 3',
  )
})

it('is at 100 % when there is no work, and has no pace at the start', () => {
  const noWork = { what: '', passed: 0, before: 0, total: 0 }
  expect(progressBar(noWork, 0, 40)).toBe('100 %  0 of 0 events')
  expect(progressBar({ ...noWork, total: 10 }, 900, 40)).toBe('  0 %  0 of 10 events')
})

it('stays at 100 % when more is passed than there was at the start', () => {
  expect(progressBar({ what: '', passed: 12, before: 0, total: 10 }, 1_000, 100)).toMatch(/^\[#{24}\] 100 % .*\/s$/)
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
