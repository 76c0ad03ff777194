import type { CliContext } from '../command.ts'

const ESC = '\x1b['
// A screen of its own, which leaves what stood there before as it was; no cursor, no wrapping of lines too long.
const ENTER = `${ESC}?1049h${ESC}?25l${ESC}?7l`
const LEAVE = `${ESC}?7h${ESC}?25h${ESC}?1049l`
const HOME = `${ESC}H`
const REST_OF_LINE = `${ESC}K`
const REST_OF_SCREEN = `${ESC}J`

/** A terminal's screen that is drawn again and again. Each drawing is one write over the one before: nothing flickers. */
export function openScreen({ out }: Pick<CliContext, 'out'>) {
  let isOpen = false
  return {
    /** Draws as many of these lines as there are rows. */
    async draw(lines: readonly string[], rows: number): Promise<void> {
      const fit =
        lines.length <= rows
          ? lines
          : [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} more lines`]
      const drawn = fit.map((line) => line + REST_OF_LINE).join('\r\n')
      const begin = isOpen ? '' : ENTER
      isOpen = true
      await out(`${begin}${HOME}${drawn}${REST_OF_SCREEN}`)
    },

    /** Gives the terminal back. */
    async close(): Promise<void> {
      if (isOpen) await out(LEAVE)
      isOpen = false
    },
  }
}
