import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Answer, answerOnSocket, answerWith, rejectConnect } from './answer.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { singleFlight } from './single-flight.ts'

/** Why a service can't do its work now, in words for an operator; none when it can. */
export type Readiness = () => string[]

export type OperationsParts = {
  readiness: Readiness
  metrics: Pick<Metrics, 'metrics' | 'contentType'>
  log: Log
}

const PATHS = ['/livez', '/readyz', '/metrics']
/** Those who ask are few and ask little: a probe, a scraper, a person. */
const MAX_CONNECTIONS = 100
const MAX_HEADERS_BYTES = 8_192
const REQUEST_TIMEOUT_MS = 5_000
/** A connection on which nothing moves for so long is closed, also when its client does not read the answer. */
const IDLE_TIMEOUT_MS = 10_000
const TIMEOUTS_CHECKED_EVERY_MS = 1_000

/**
 * The operations port: `/livez` answers 200 while the process runs; `/readyz` answers 200 when it can do its work and
 * otherwise 503 with the reasons; `/metrics` is for Prometheus. Whatever else is asked has an answer
 * `{ "error", "message" }`, and nobody can hold the process up from here.
 */
export async function openOperationsPort(port: number, host: string, parts: OperationsParts) {
  const metricsText = singleFlight(() => parts.metrics.metrics())
  const busy = new WeakSet<Socket>()
  const server = createServer(
    {
      // Whoever asks here means this process, whatever name it has for it.
      requireHostHeader: false,
      maxHeaderSize: MAX_HEADERS_BYTES,
      headersTimeout: REQUEST_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
    },
    (request, response) => {
      const { socket } = request
      // Thousands of requests fit into what is read at once, and all of them would be answered before anything else.
      if (busy.has(socket)) return void socket.destroy()
      busy.add(socket)
      response.once('close', () => busy.delete(socket))
      void answerOf(request, parts, metricsText).then((answer) => answerWith(response, answer))
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  server.setTimeout(IDLE_TIMEOUT_MS)
  answerNodesOwnCases(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answerOf(
  request: IncomingMessage,
  { readiness, metrics, log }: OperationsParts,
  metricsText: () => Promise<string>,
): Promise<Answer> {
  const path = request.url?.split('?')[0] ?? ''
  if (!PATHS.includes(path)) return failure(404, `try ${PATHS.join(', ')}`)
  if (request.method !== 'GET' && request.method !== 'HEAD') return failure(405, 'only GET and HEAD')
  try {
    if (path === '/livez') return json(200, { live: true })
    if (path === '/metrics')
      return { status: 200, headers: { 'content-type': metrics.contentType }, body: await metricsText() }
    const reasons = readiness()
    return json(reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons })
  } catch (err) {
    log.error({ err, path }, 'the operations port could not answer')
    return failure(500, 'something went wrong here; the log tells more')
  }
}

/** What Node answers without a body, or not at all. */
function answerNodesOwnCases(server: Server): void {
  const asked = new WeakSet<Socket>()
  server.on('request', ({ socket }: IncomingMessage) => asked.add(socket))
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    // Behind a request that came before, an answer would be taken for the answer to that one.
    if (error.code === 'ECONNRESET' || !socket.writable || asked.has(socket)) socket.destroy()
    else answerOnSocket(socket, unreadable(error.code))
  })
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    answerWith(response, failure(417, 'the only expectation supported is "100-continue"'))
  })
  rejectConnect(server, (socket) => answerOnSocket(socket, failure(405, 'only GET and HEAD')))
}

function unreadable(code: string | undefined): Answer {
  if (code === 'HPE_HEADER_OVERFLOW') return failure(431, 'the request headers are too large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return failure(408, 'the request did not arrive in time')
  return failure(400, 'the HTTP request is malformed')
}

/** Ends the connection, too: nobody waits for the rest of a request that is refused. */
function failure(status: number, message: string): Answer {
  const { headers, body } = json(status, { error: status, message })
  const allow = status === 405 && { allow: 'GET, HEAD' }
  return { status, headers: { ...headers, ...allow, connection: 'close' }, body }
}

function json(status: number, content: object): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(content)}\n` }
}
