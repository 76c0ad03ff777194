import { stripVTControlCharacters, styleText } from 'node:util'

type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'bold' | 'dim'

/** Colours a text, or returns it unchanged where colours are off. */
export type Paint = (colour: Colour, text: string) => string

export function createPaint(colours: boolean): Paint {
  return colours ? (colour, text) => styleText(colour, text, { validateStream: false }) : (_colour, text) => text
}

/** Width of a line in characters, without its colours. */
export const widthOf = (text: string): number => Array.from(stripVTControlCharacters(text)).length

const NARROWEST = 20

/** Wraps a text between words. The first line starts with `head`; the others are indented by its width. */
export function wrapLines(head: string, text: string, columns: number): string[] {
  const indent = ' '.repeat(widthOf(head))
  const width = Math.max(columns - indent.length, NARROWEST)
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].map((line, index) => (index === 0 ? head : indent) + line)
}

export type Column<R> = {
  title: string
  cell(row: R): string
  /** Left without it. */
  align?: 'right'
  /** On a narrow terminal the columns with the highest rank are dropped first; without a rank a column stays. */
  dropRank?: number
}

const GAP = '  '

/** The lines of a table, titles first. Columns that do not fit into `width` characters are dropped by rank. */
export function tableLines<R>(columns: readonly Column<R>[], rows: readonly R[], width: number): string[] {
  const measured = columns.map((column) => {
    const cells = [column.title, ...rows.map(column.cell)]
    return { column, cells, width: Math.max(...cells.map(widthOf)) }
  })
  const shown = fitting(measured, width)
  return ['', ...rows].map((_, line) =>
    shown
      .map(({ column, cells, width }) => {
        const cell = cells[line] as string
        const padding = ' '.repeat(width - widthOf(cell))
        return column.align === 'right' ? padding + cell : cell + padding
      })
      .join(GAP)
      .trimEnd(),
  )
}

function fitting<M extends { column: { dropRank?: number }; width: number }>(measured: M[], width: number): M[] {
  const total = measured.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length)
  const highest = Math.max(...measured.map(({ column }) => column.dropRank ?? 0))
  if (total <= width || highest === 0) return measured
  return fitting(
    measured.filter(({ column }) => column.dropRank !== highest),
    width,
  )
}
