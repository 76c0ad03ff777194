import { formatDuration, formatNumber } from '@plant-store/shared/runtime/format.ts'
import { delay, systemTime } from '@plant-store/shared/runtime/time.ts'
import type { CliContext } from '../command.ts'
import { widthOf } from './layout.ts'
import { safeOutput } from './safe-text.ts'

/** Work of a known size: `passed` of `total` records, of which `before` were passed before this run started. */
export type Work = { passed: number; before: number; total: number; elapsedMs: number }

const BAR_CHARACTERS = 24
/** On a narrower terminal only the figures are shown. */
const BAR_COLUMNS_MIN = 80

/** `[######------]  50 %  1,000 of 2,000 events, 500/s, 2 s left  what` */
export function progressBar(work: Work, what: string, columns: number): string {
  const { passed, total } = work
  const share = total === 0 ? 1 : Math.min(passed / total, 1)
  const filled = Math.floor(share * BAR_CHARACTERS)
  const bar = columns < BAR_COLUMNS_MIN ? '' : `[${'#'.repeat(filled).padEnd(BAR_CHARACTERS, '-')}] `
  const percent = `${Math.floor(share * 100)}`.padStart(3)
  const figures = `${formatNumber(passed)} of ${formatNumber(total)} events${paceOf(work)}`
  return `${bar}${percent} %  ${figures}  ${what}`.trimEnd()
}

function paceOf({ passed, before, total, elapsedMs }: Work): string {
  const perSecond = ((passed - before) / elapsedMs) * 1_000
  if (!Number.isFinite(perSecond) || perSecond < 1) return ''
  const left = passed < total ? `, ${formatDuration(((total - passed) / perSecond) * 1_000)} left` : ''
  return `, ${formatNumber(Math.round(perSecond))}/s${left}`
}

const REDRAW_EVERY_MS = 200
const LINE_EVERY_MS = 5_000
const CLEAR_LINE = '\r\x1b[K'

/**
 * Shows progress on stderr: a terminal gets one line that is redrawn in place, anything else a line every 5 s.
 * Messages in between go through `printError`, which prints them above the line.
 */
export function startProgressLine(context: CliContext, line: (columns: number) => string) {
  const { stderrIsTerminal } = context
  const ending = new AbortController()
  let drawn = ''

  function draw(): void {
    const { stderrColumns } = context
    // A line of the terminal's full width would wrap.
    const text = safeOutput(line(stderrColumns - 1), false)
    const fits = widthOf(text) < stderrColumns
    drawn = fits
      ? text
      : Array.from(text)
          .slice(0, stderrColumns - 1)
          .join('')
    context.drawError(stderrIsTerminal ? `${CLEAR_LINE}${drawn}` : `${text}\n`)
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

/** Shows on stderr how much of the log was read, once it is known how much there is to read. */
export function createReadingProgress(context: CliContext, what: string) {
  let passed = 0
  let line: ReturnType<typeof startProgressLine> | undefined
  return {
    /** `total` is the number of records to read if none has to be read again. */
    start(total: number): void {
      const startedAt = performance.now()
      line = startProgressLine(context, (columns) => {
        const elapsedMs = performance.now() - startedAt
        return progressBar({ passed: Math.min(passed, total), before: 0, total, elapsedMs }, what, columns)
      })
    },

    onRead(records: number): void {
      passed += records
    },

    async end(): Promise<void> {
      const ending = line
      line = undefined
      await ending?.end()
    },
  }
}
