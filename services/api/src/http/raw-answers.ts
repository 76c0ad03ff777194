import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { bodyOf, type Failure, headersOf, statusOf } from './errors.ts'

const CLIENT_ERRORS: Record<string, Failure> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
}

/** Answers a connection on which no request came about: Node's own answer would have no body. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  answerOnSocket(socket, CLIENT_ERRORS[error.code ?? ''] ?? 'malformedRequest')
}

/** Gives the requests that Node answers by itself, with empty bodies, an answer in the Error shape. */
export function answerNodesOwnCases(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { status, headers, body } = answerOf('expectationFailed')
    response.writeHead(status, headers).end(body)
  })
  server.on('connect', (_request: IncomingMessage, socket: Socket) =>
    answerOnSocket(socket, 'methodNotAllowed'),
  )
}

function answerOnSocket(socket: Socket, failure: Failure): void {
  const { status, headers, body } = answerOf(failure)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
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
