import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

/** An answer that is known as a whole; its Content-Length comes with sending it. */
export type Answer = { status: number; headers: Record<string, string>; body: string }

export function answerWith(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, withLength(answer)).end(answer.body)
}

/** Answers where Node gives no response, to what it can't read and to CONNECT; the connection ends. */
export function answerOnSocket(socket: Socket, answer: Answer): void {
  const lines = Object.entries(withLength(answer)).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join('')}\r\n`
  socket.end(head + answer.body, () => socket.destroySoon())
}

/** Has `refuse` answer every CONNECT on its socket. */
export function rejectConnect(server: Server, refuse: (socket: Socket) => void): void {
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // Node lets go of the socket here, its errors included: a reset would end the process.
    socket.on('error', () => socket.destroy())
    refuse(socket)
  })
}

function withLength({ headers, body }: Answer): Record<string, string> {
  return { ...headers, 'content-length': String(Buffer.byteLength(body)) }
}
