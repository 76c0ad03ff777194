import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { onTestFinished } from 'vitest'

export type RawResponse = { status: number; headers: Record<string, string>; body: string }

/** A connection on which a test writes what it likes; with TLS if the URL says so. */
export function openRaw(url: string) {
  const { protocol, hostname, port } = new URL(url)
  const below = connect(Number(port), hostname)
  const socket: Socket = protocol === 'https:' ? connectTls({ socket: below, host: hostname }) : below
  onTestFinished(() => void socket.destroy())
  const chunks: Buffer[] = []
  const received = () => Buffer.concat(chunks).toString('latin1')
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk))
  // The bytes of a test may cause a reset of the connection.
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
  })
  return {
    socket,
    closed,
    reset: () => void below.resetAndDestroy(),
    write: (text: string) => void socket.write(text, 'latin1'),
    received,
    /** The whole responses received until now, in order. */
    responses: (): RawResponse[] => parseResponses(received()),
  }
}

/** Answers with a Content-Length or, as those to HEAD and 1xx, without a body. Throws for anything else. */
function parseResponses(text: string, responses: RawResponse[] = []): RawResponse[] {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return responses
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) [\w '-]+$/.exec(statusLine)?.[1])
  if (!status) throw new Error(`no status line: ${statusLine}`)
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  )
  const length = status < 200 ? 0 : Number(headers['content-length'])
  const rest = text.slice(end + 4)
  if (rest.length < length) return responses
  return parseResponses(rest.slice(length), [...responses, { status, headers, body: rest.slice(0, length) }])
}
