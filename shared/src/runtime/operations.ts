import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIP, type Socket } from 'node:net'
import { listenErrorOf } from './failures.ts'
import { type HttpResponse, rejectConnect, sendOnSocket, sendResponse } from './http-response.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { singleFlight } from './single-flight.ts'

/** The reasons why a service is not ready, for an operator; empty when it is ready. */
export type Readiness = () => string[]

export type OperationsParts = {
  readiness: Readiness
  /** Problems that do not make the service unready. */
  notices?: Readiness
  metrics: Pick<Metrics, 'metrics' | 'contentType'>
  log: Log
  pages?: ReadonlyMap<string, (query: URLSearchParams) => Promise<HttpResponse>>
  /** Further names by which browsers reach these pages. */
  pageHosts?: readonly string[]
}

/** Names that no public domain has: without a dot, or of a private network or cluster. */
const PRIVATE_NAME = /^[^.]*$|\.(localhost|svc|cluster\.local|internal)$/
const PATHS = ['/livez', '/readyz', '/metrics']
/** The clients are few and light: a probe, a scraper, a person. */
const MAX_CONNECTIONS = 100
const MAX_HEADERS_BYTES = 8_192
const REQUEST_TIMEOUT_MS = 5_000
/** The timeout in the Keep-Alive header; Node closes a connection without a further request a second later. */
const KEEP_ALIVE_MS = 5_000
/** A connection whose client does not read the response is closed after this time. */
const IDLE_TIMEOUT_MS = 10_000
const TIMEOUTS_CHECKED_EVERY_MS = 1_000

/**
 * Opens the operations port: `/livez` responds with 200 while the process runs; `/readyz` with 200 when the service is
 * ready, otherwise with 503 and the reasons, in both cases with notices; `/metrics` is for Prometheus; `pages` has the
 * rest. Every failure is `{ "error", "message" }`. Connections, headers and times are bounded, so that no client here
 * can stall the process. Rejects with a PreconditionError for a port that cannot be used.
 */
export async function openOperationsPort(port: number, host: string, parts: OperationsParts) {
  const metricsText = singleFlight(() => parts.metrics.metrics())
  const busy = new WeakSet<Socket>()
  const server = createServer(
    {
      // A client may use any name for this process.
      requireHostHeader: false,
      maxHeaderSize: MAX_HEADERS_BYTES,
      headersTimeout: REQUEST_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
    },
    (request, response) => {
      const { socket } = request
      // One read can bring thousands of pipelined requests, which would all be served before any other work.
      if (busy.has(socket)) return void socket.destroy()
      busy.add(socket)
      response.once('close', () => busy.delete(socket))
      void responseTo(request, parts, metricsText).then((sent) => sendResponse(response, sent))
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  server.setTimeout(IDLE_TIMEOUT_MS)
  respondToNodeFailures(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenErrorOf(error, port, host, 'OPS_PORT')))
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

async function responseTo(
  request: IncomingMessage,
  { readiness, notices = () => [], metrics, log, pages, pageHosts = [] }: OperationsParts,
  metricsText: () => Promise<string>,
): Promise<HttpResponse> {
  const [path = '', query] = request.url?.split('?') ?? []
  const page = pages?.get(path)
  if (page === undefined && !PATHS.includes(path)) return failure(404, `unknown path; use ${PATHS.join(', ')}`)
  if (request.method !== 'GET' && request.method !== 'HEAD') return failure(405, 'use GET or HEAD')
  if (page !== undefined && !isOwnHost(request.headers.host, pageHosts))
    return failure(421, 'another host: use an address or localhost, or list the name in OPS_HOSTS')
  try {
    if (page !== undefined) return await page(new URLSearchParams(query))
    if (path === '/livez') return json(200, { live: true })
    if (path === '/metrics')
      return { status: 200, headers: { 'content-type': metrics.contentType }, body: await metricsText() }
    const reasons = readiness()
    return json(reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons, notices: notices() })
  } catch (err) {
    log.error({ err, path }, 'the operations port failed to respond')
    return failure(500, 'internal error; see the log of the service')
  }
}

/**
 * Returns false for the Host header of a page that is served elsewhere: its name may resolve to this port, so that it
 * can read the responses (DNS rebinding). Browsers always send the header.
 */
function isOwnHost(host = '', pageHosts: readonly string[]): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase()
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || PRIVATE_NAME.test(name) || pageHosts.includes(name)
}

/** Responds with a body where Node would send none, or no response at all. */
function respondToNodeFailures(server: Server): void {
  const hadRequest = new WeakSet<Socket>()
  server.on('request', ({ socket }: IncomingMessage) => hadRequest.add(socket))
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    // After an earlier request on this connection, the client would take this response for that request's.
    if (error.code === 'ECONNRESET' || !socket.writable || hadRequest.has(socket)) socket.destroy()
    else sendOnSocket(socket, unreadable(error.code))
  })
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    sendResponse(response, failure(417, 'the only expectation supported is "100-continue"'))
  })
  rejectConnect(server, (socket) => sendOnSocket(socket, failure(405, 'use GET or HEAD')))
}

function unreadable(code: string | undefined): HttpResponse {
  if (code === 'HPE_HEADER_OVERFLOW') return failure(431, 'the request headers are too large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return failure(408, 'the request did not arrive in time')
  return failure(400, 'the HTTP request is malformed')
}

/** A failure ends the connection: the rest of a refused request is not read. */
function failure(status: number, message: string): HttpResponse {
  const { headers, body } = json(status, { error: status, message })
  const allow = status === 405 && { allow: 'GET, HEAD' }
  return { status, headers: { ...headers, ...allow, connection: 'close' }, body }
}

function json(status: number, content: object): HttpResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(content)}\n` }
}
