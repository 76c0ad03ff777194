import { lengthOf } from './table.ts'

const NARROWEST = 20

/** Lines of at most so many characters, broken between words; the first begins with `head`, the others stand below its end. */
export function wrapped(head: string, text: string, columns: number): string[] {
  const indent = ' '.repeat(lengthOf(head))
  const width = Math.max(columns - indent.length, NARROWEST)
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && lengthOf(line) + 1 + lengthOf(word) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].map((line, index) => (index === 0 ? head : indent) + line)
}
