import { delay, systemTime } from '@plant-store/shared/runtime/time.ts'
import type { CliContext } from '../command.ts'
import { lengthOf } from './table.ts'

const REDRAW_EVERY_MS = 200
const LINE_EVERY_MS = 5_000
const CLEAR = '\r\x1b[K'

/**
 * Shows how far work is, on stderr: on a terminal as one line that is drawn over itself, otherwise as a line every
 * 5 s. What is told meanwhile goes through `tell`, above the line.
 */
export function startProgressLine(context: CliContext, line: (columns: number) => string) {
  const { isWatched } = context
  const ending = new AbortController()
  let drawn = ''

  function draw(): void {
    const { tellColumns, tell } = context
    // A line as wide as the terminal would go over into the next one.
    const text = line(tellColumns - 1)
    drawn =
      lengthOf(text) < tellColumns
        ? text
        : Array.from(text)
            .slice(0, tellColumns - 1)
            .join('')
    tell(isWatched ? `${CLEAR}${drawn}` : `${text}\n`)
  }

  async function run(): Promise<void> {
    while (!ending.signal.aborted) {
      if (isWatched) draw()
      await delay(systemTime, isWatched ? REDRAW_EVERY_MS : LINE_EVERY_MS, ending.signal)
      if (!isWatched && !ending.signal.aborted) draw()
    }
  }

  const running = run()
  return {
    tell(text: string): void {
      context.tell(isWatched ? `${CLEAR}${text}${drawn}` : text)
    },

    /** Draws it a last time, and leaves it there. */
    async end(): Promise<void> {
      ending.abort()
      await running
      if (!isWatched) return
      draw()
      context.tell('\n')
    },
  }
}
