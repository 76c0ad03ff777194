import { stripVTControlCharacters } from 'node:util'

export type Column<R> = {
  title: string
  cell(row: R): string
  /** Where it is to stand; numbers stand at the right. */
  align?: 'right'
  /** Of those that give way when the terminal is too narrow, the highest goes first; without it, it stays. */
  givesWay?: number
}

const GAP = '  '

/** Lines of a table, its titles first; columns that do not fit into so many characters give way. */
export function tableLines<R>(columns: readonly Column<R>[], rows: readonly R[], width: number): string[] {
  const measured = columns.map((column) => {
    const cells = [column.title, ...rows.map(column.cell)]
    return { column, cells, width: Math.max(...cells.map(lengthOf)) }
  })
  const shown = fitting(measured, width)
  return ['', ...rows].map((_, line) =>
    shown
      .map(({ column, cells, width }) => {
        const cell = cells[line] as string
        const padding = ' '.repeat(width - lengthOf(cell))
        return column.align === 'right' ? padding + cell : cell + padding
      })
      .join(GAP)
      .trimEnd(),
  )
}

function fitting<M extends { column: { givesWay?: number }; width: number }>(
  measured: M[],
  width: number,
): M[] {
  const total = measured.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length)
  const most = Math.max(...measured.map(({ column }) => column.givesWay ?? 0))
  if (total <= width || most === 0) return measured
  return fitting(
    measured.filter(({ column }) => column.givesWay !== most),
    width,
  )
}

/** How many characters of a line it takes, colours not counted. */
export const lengthOf = (text: string): number => Array.from(stripVTControlCharacters(text)).length
