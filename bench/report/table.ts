/** A table: what its columns are called, its rows, and which columns hold words and so are aligned to the left. */
export type Table = {
  head: readonly string[]
  rows: readonly (readonly string[])[]
  words: ReadonlySet<number>
}

const GAP = '  '

/**
 * For a terminal: aligned, and without trailing blanks. No letter of ours is wider than one cell, or two units of
 * UTF-16.
 */
export function plainTable({ head, rows, words }: Table): string {
  const widths = head.map((title, column) =>
    Math.max(...[head, ...rows].map((cells) => (cells[column] ?? title).length)),
  )
  const line = (cells: readonly string[]) =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? ''
        const blanks = ' '.repeat(width - cell.length)
        return words.has(column) ? cell + blanks : blanks + cell
      })
      .join(GAP)
      .trimEnd()
  return [head, widths.map((width) => '─'.repeat(width)), ...rows].map(line).join('\n')
}

export function markdownTable({ head, rows, words }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const rule = head.map((_, column) => (words.has(column) ? '---' : '---:'))
  return [head, rule, ...rows].map(line).join('\n')
}
