import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { bodyOf, type Failure, headersOf, statusOf } from './errors.ts'

const CLIENT_ERRORS: Record<string, Failure> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
}

/**
 * Gives what Node answers by itself, with an empty body or none at all, an answer in the Error shape: connections on
 * which no request comes about, unknown expectations, and CONNECT.
 */
export function answerNodesOwnCases(server: Server): void {
  const lastResponses = new WeakMap<Socket, ServerResponse>()
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    lastResponses.set(socket, response)
  })
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    // While an earlier request of this connection is not answered, another answer would be taken for its.
    const isAwaited = lastResponses.get(socket)?.writableFinished === false
    if (error.code === 'ECONNRESET' || !socket.writable || isAwaited) socket.destroy()
    else answerOnSocket(socket, CLIENT_ERRORS[error.code ?? ''] ?? 'malformedRequest')
  })
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { status, headers, body } = answerOf('expectationFailed')
    response.writeHead(status, headers).end(body)
  })
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // Node lets go of the socket here, its errors included: a reset would end the process.
    socket.on('error', () => socket.destroy())
    answerOnSocket(socket, 'methodNotAllowed')
  })
}

function answerOnSocket(socket: Socket, failure: Failure): void {
  const { status, headers, body } = answerOf(failure)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroySoon(),
  )
}

function answerOf(failure: Failure) {
  const body = JSON.stringify(bodyOf(failure))
  const headers = {
    ...headersOf(failure),
    ...(failure === 'methodNotAllowed' && { allow: 'GET, POST' }),
    connection: 'close',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  }
  return { status: statusOf(failure), headers, body }
}
