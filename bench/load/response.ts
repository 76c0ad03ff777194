/** The parts of a response that a load generator reads; `position` is its consistency token, if any. */
export type Response = { status: number; position: string | undefined; body: string; isLast: boolean }

const HEAD_END = '\r\n\r\n'

/**
 * Parses a response that was decoded as latin1. Returns undefined while it is incomplete. Throws for anything that no
 * contender sends: this is not a general HTTP client.
 */
export function readResponse(text: string): Response | undefined {
  const headEnd = text.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  const length = fieldOf(text, 'content-length', headEnd)
  if (!text.startsWith('HTTP/1.1 ') || length === undefined)
    throw new Error(`not a response of HTTP/1.1 with Content-Length: ${text.slice(0, headEnd)}`)
  const begin = headEnd + HEAD_END.length
  const end = begin + Number(length)
  if (text.length < end) return undefined
  if (text.length > end) throw new Error('bytes follow the response')
  const position = fieldOf(text, 'plants-position', headEnd)
  const isLast = fieldOf(text, 'connection', headEnd) === 'close'
  return { status: Number(text.slice(9, 12)), position, body: text.slice(begin), isLast }
}

function fieldOf(text: string, name: string, headEnd: number): string | undefined {
  const at = text.indexOf(`\r\n${name}: `)
  if (at === -1 || at >= headEnd) return undefined
  const begin = at + name.length + 4
  return text.slice(begin, text.indexOf('\r\n', begin))
}
