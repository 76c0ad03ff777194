import type { CliContext } from '../cli-context.ts'
import { safeOutput } from './safe-text.ts'

const ESC = '\x1b['
// The alternate screen, which keeps the normal one as it was; no cursor, no wrapping of long lines.
const ENTER = `${ESC}?1049h${ESC}?25l${ESC}?7l`
const LEAVE = `${ESC}?7h${ESC}?25h${ESC}?1049l`
const HOME = `${ESC}H`
const CLEAR_REST_OF_LINE = `${ESC}K`
const CLEAR_REST_OF_SCREEN = `${ESC}J`

/** A screen that is redrawn repeatedly. Each drawing is one write over the previous one, so that nothing flickers. */
export function openScreen({ draw, colours }: Pick<CliContext, 'draw' | 'colours'>) {
  let isOpen = false
  // A command that does not end after an interruption is abandoned.
  const leave = () => void draw(LEAVE)

  return {
    async draw(lines: readonly string[], rows: number): Promise<void> {
      const shown =
        lines.length <= rows ? lines : [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} more lines`]
      const text = shown.map((line) => safeOutput(line, colours) + CLEAR_REST_OF_LINE).join('\r\n')
      const enter = isOpen ? '' : ENTER
      if (!isOpen) process.on('exit', leave)
      isOpen = true
      await draw(`${enter}${HOME}${text}${CLEAR_REST_OF_SCREEN}`)
    },

    async close(): Promise<void> {
      if (isOpen) await draw(LEAVE)
      process.off('exit', leave)
      isOpen = false
    },
  }
}
