/** What a load generator reads of the response to a create; `position` is its consistency token, if any. */
export type CreateResponse = { status: number; position: string | undefined; isLast: boolean }

const HEAD_END = '\r\n\r\n'

/**
 * Parses a response that was decoded as latin1. Returns undefined while it is incomplete. Throws for anything that no
 * contender sends: this is not a general HTTP client.
 */
export function readResponse(text: string): CreateResponse | undefined {
  const headEnd = text.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  if (!text.startsWith('HTTP/1.1 ')) throw new Error(`not a response of HTTP/1.1: ${text.slice(0, 40)}`)
  const length = fieldOf(text, 'content-length', headEnd)
  if (length === undefined) throw new Error(`a response without Content-Length: ${text.slice(0, headEnd)}`)
  const end = headEnd + HEAD_END.length + Number(length)
  if (text.length < end) return undefined
  if (text.length > end) throw new Error('bytes follow the response')
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
