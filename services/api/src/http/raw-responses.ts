import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import {
  type HttpResponse,
  rejectConnect,
  sendOnSocket,
  sendResponse,
} from '@plant-store/shared/runtime/http-response.ts'
import { bodyOf, type Failure, headersOf, statusOf } from './errors.ts'
import type { LatestResponse } from './latest-response.ts'

const CLIENT_ERRORS: Record<string, Failure> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'bodyTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
}

/**
 * Gives what Node answers by itself, with an empty body or none at all, an answer in the Error shape: connections on
 * which no request comes about or one does not come to its end, unknown expectations, and CONNECT.
 */
export function answerNodesOwnCases(server: Server, latestOn: LatestResponse): void {
  // Node drops, and says nothing of, the headers beyond so many; their bytes are bounded anyway.
  server.maxHeadersCount = 0
  // Who only has nothing more to ask may still wait for answers (RFC 9112 9.6).
  Object.assign(server, { httpAllowHalfOpen: true })
  const unreadable = new WeakSet<Socket>()
  // Before Fastify's own listener, which may answer at once.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    // Node drops what came with it in the same packet: an answer would be taken for that to another request.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
  })
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    const failure = CLIENT_ERRORS[error.code ?? ''] ?? 'malformedRequest'
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    // Node tells again for each packet that follows.
    else if (!unreadable.has(socket)) answerInTurn(socket, latestOn(socket), answerOf(failure))
    unreadable.add(socket)
  })
  // Nothing has moved for a while. Who does not read answers would have them kept for ever; who waits for one may wait.
  server.on('timeout', (socket: Socket) => {
    const response = latestOn(socket)
    if (response?.writableEnded || socket.writableLength > 0) socket.destroy()
  })
  // Whether the body is wanted is known only when its head was looked at.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    sendResponse(response, answerOf('expectationFailed'))
  })
  rejectConnect(server, (socket) => answerInTurn(socket, latestOn(socket), answerOf('methodNotAllowed')))
}

/** Answers what can't be read, after what was asked before it on the same connection: answers have no names. */
function answerInTurn(socket: Socket, response: ServerResponse | undefined, answer: HttpResponse): void {
  if (response?.req.complete === false) {
    // It is the body of the latest request that does not come, or is no body. A response has the socket when it
    // is its turn.
    if (response.headersSent || response.socket !== socket) socket.destroy()
    else sendOnSocket(socket, answer)
  } else if (response?.writableFinished === false) {
    response.once('close', () => {
      if (socket.writable) sendOnSocket(socket, answer)
    })
  } else sendOnSocket(socket, answer)
}

function answerOf(failure: Failure): HttpResponse {
  const headers = {
    ...headersOf(failure),
    ...(failure === 'methodNotAllowed' && { allow: 'GET, HEAD, POST' }),
    connection: 'close',
    'content-type': 'application/json',
  }
  return { status: statusOf(failure), headers, body: JSON.stringify(bodyOf(failure)) }
}
