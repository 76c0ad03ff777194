/** What a load generator looks at in an answer to a create. `position` is absent where there is none. */
export type Answer = { status: number; position: string | undefined; isLast: boolean }

const HEAD_END = '\r\n\r\n'

/**
 * The answer that these bytes, as latin1, are, when they are all of it; undefined while some are missing. Throws for
 * what no contender sends: this is no HTTP client.
 */
export function readAnswer(text: string): Answer | undefined {
  const headEnd = text.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  if (!text.startsWith('HTTP/1.1 ')) throw new Error(`no answer of HTTP/1.1: ${text.slice(0, 40)}`)
  const length = fieldOf(text, 'content-length', headEnd)
  if (length === undefined) throw new Error(`an answer without its length: ${text.slice(0, headEnd)}`)
  const end = headEnd + HEAD_END.length + Number(length)
  if (text.length < end) return undefined
  if (text.length > end) throw new Error('more came than was asked for')
  return {
    status: Number(text.slice(9, 12)),
    position: fieldOf(text, 'plants-position', headEnd),
    isLast: fieldOf(text, 'connection', headEnd) === 'close',
  }
}

function fieldOf(text: string, name: string, headEnd: number): string | undefined {
  const at = text.indexOf(`\r\n${name}: `)
  if (at === -1 || at >= headEnd) return undefined
  const begin = at + name.length + 4
  return text.slice(begin, text.indexOf('\r\n', begin))
}
