import { formatDuration, formatNumber } from '@plant-store/shared/runtime/format.ts'
import { delay, systemTime } from '@plant-store/shared/runtime/time.ts'
import type { CliContext } from '../cli-context.ts'
import { safeOutput } from './safe-text.ts'

/** Work of a known size: `passed` of `total` records, of which `before` were passed before this run started. */
export type Work = { passed: number; before: number; total: number }

const BAR_CHARACTERS = 24
/** On a narrower terminal only the figures are shown. */
const BAR_COLUMNS_MIN = 80

/** `[######------]  50 %  1,000 of 2,000 events, 500/s, 2 s left  what` */
export function progressBar(work: Work, elapsedMs: number, what: string, columns: number): string {
  const { passed, total } = work
  const share = total === 0 ? 1 : Math.min(passed / total, 1)
  const filled = Math.floor(share * BAR_CHARACTERS)
  const bar = columns < BAR_COLUMNS_MIN ? '' : `[${'#'.repeat(filled).padEnd(BAR_CHARACTERS, '-')}] `
  const percent = `${Math.floor(share * 100)}`.padStart(3)
  const figures = `${formatNumber(passed)} of ${formatNumber(total)} events${paceOf(work, elapsedMs)}`
  return `${bar}${percent} %  ${figures}  ${what}`.trimEnd()
}

function paceOf({ passed, before, total }: Work, elapsedMs: number): string {
  const perSecond = ((passed - before) / elapsedMs) * 1_000
  if (!Number.isFinite(perSecond) || perSecond < 1) return ''
  const left = passed < total ? `, ${formatDuration(((total - passed) / perSecond) * 1_000)} left` : ''
  return `, ${formatNumber(Math.round(perSecond))}/s${left}`
}

const REDRAW_EVERY_MS = 200
const LINE_EVERY_MS = 5_000
const CLEAR_LINE = '\r\x1b[K'

/**
 * Shows how far the work is on stderr: a terminal gets one line that is redrawn in place, anything else a line every 5 s.
 * Messages in between go through `printError`, which prints them above the line.
 */
export function startProgressLine(context: CliContext, work: Work, what: () => string) {
  const { stderrIsTerminal } = context
  const ending = new AbortController()
  const startedAt = performance.now()
  let drawn = ''

  function draw(): void {
    const { stderrColumns } = context
    // A line of the terminal's full width would wrap.
    const line = progressBar(work, performance.now() - startedAt, what(), stderrColumns - 1)
    drawn = Array.from(safeOutput(line, false))
      .slice(0, stderrColumns - 1)
      .join('')
    context.drawError(stderrIsTerminal ? `${CLEAR_LINE}${drawn}` : `${drawn}\n`)
  }

  async function run(): Promise<void> {
    while (!ending.signal.aborted) {
      if (stderrIsTerminal) draw()
      await delay(systemTime, stderrIsTerminal ? REDRAW_EVERY_MS : LINE_EVERY_MS, ending.signal)
      if (!stderrIsTerminal && !ending.signal.aborted) draw()
    }
  }

  const running = run()
  return {
    printError(text: string): void {
      if (stderrIsTerminal) context.drawError(CLEAR_LINE)
      context.printError(text)
      if (stderrIsTerminal) context.drawError(drawn)
    },

    /** Draws the line a last time and leaves it on the screen. */
    async end(): Promise<void> {
      ending.abort()
      await running
      if (!stderrIsTerminal) return
      draw()
      context.printError('\n')
    },
  }
}

/** Shows on stderr how much of the log was read, once the total is known. */
export async function withProgress<T>(
  context: CliContext,
  what: string,
  read: (progress: { onStart(records: number): void; onRead(records: number): void }) => Promise<T>,
): Promise<T> {
  const work = { passed: 0, before: 0, total: 0 }
  let line: ReturnType<typeof startProgressLine> | undefined
  try {
    return await read({
      onStart(records) {
        work.total = records
        line = startProgressLine(context, work, () => what)
      },
      onRead(records) {
        // Some records may be read again.
        work.passed = Math.min(work.passed + records, work.total)
      },
    })
  } finally {
    await line?.end()
  }
}
