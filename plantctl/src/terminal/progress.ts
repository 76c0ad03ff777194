import { formatDuration, formatNumber } from '@plant-store/shared/runtime/format.ts'
import type { CliContext } from '../cli-context.ts'

/** Receives the number of records to read, and of those that were read. */
export type Progress = { onStart(records: number): void; onRead(records: number): void }

/** Work of a known size: `passed` of `total` records, of which `before` were passed before this run started. */
export type Work = { what: string; passed: number; before: number; total: number }

const BAR_CHARACTERS = 24
/** On a narrower terminal only the figures are shown. */
const BAR_COLUMNS_MIN = 80

/** `[######------]  50 %  1,000 of 2,000 events, 500/s, 2 s left  what` */
export function progressBar(work: Work, elapsedMs: number, columns: number): string {
  const { what, passed, total } = work
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

/**
 * Shows on stderr how far the work is, from `onStart` on: a terminal gets one line that is redrawn in place, anything
 * else a line every 5 s.
 */
export async function withProgress<T>(
  context: CliContext,
  what: string,
  run: (progress: Progress & { work: Work }) => Promise<T>,
): Promise<T> {
  const { stderrIsTerminal } = context
  const work: Work = { what, passed: 0, before: 0, total: 0 }
  let startedAt = 0
  let drawing: NodeJS.Timeout | undefined

  function draw(): void {
    const line = progressBar(work, performance.now() - startedAt, context.stderrColumns - 1)
    if (stderrIsTerminal) context.drawProgress(line)
    else context.printError(`${line}\n`)
  }

  try {
    return await run({
      work,
      onStart(records) {
        // Again if the work starts again.
        clearInterval(drawing)
        work.passed = 0
        work.total = records
        startedAt = performance.now()
        if (stderrIsTerminal) draw()
        drawing = setInterval(draw, stderrIsTerminal ? REDRAW_EVERY_MS : LINE_EVERY_MS)
      },
      onRead(records) {
        // Some records may be read again.
        work.passed = Math.min(work.passed + records, work.total)
      },
    })
  } finally {
    clearInterval(drawing)
    // The last state of the line stays on the screen.
    if (drawing !== undefined && stderrIsTerminal) {
      draw()
      context.endProgress()
    }
  }
}
