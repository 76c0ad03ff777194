import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

/** A response whose body is complete; Content-Length is added when it is sent. */
export type HttpResponse = { status: number; headers: Record<string, string>; body: string }

export function sendResponse(to: ServerResponse, response: HttpResponse): void {
  to.writeHead(response.status, withLength(response)).end(response.body)
}

/** Responds where Node provides no ServerResponse: to an unreadable request and to CONNECT. Ends the connection. */
export function sendOnSocket(socket: Socket, response: HttpResponse): void {
  const lines = Object.entries(withLength(response)).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status]}\r\n${lines.join('')}\r\n`
  socket.end(head + response.body, () => socket.destroySoon())
}

/** Calls `reject` for every CONNECT, to respond on its socket. */
export function rejectConnect(server: Server, reject: (socket: Socket, request: IncomingMessage) => void): void {
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    // Node hands over the socket here, its errors included: without a listener a reset would end the process.
    socket.on('error', () => socket.destroy())
    reject(socket, request)
  })
}

function withLength({ headers, body }: HttpResponse): Record<string, string> {
  return { ...headers, 'content-length': String(Buffer.byteLength(body)) }
}
