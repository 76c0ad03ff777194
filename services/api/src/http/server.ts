import { lookup } from 'node:dns/promises'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket, type TlsOptions } from 'node:tls'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { listenErrorOf, resultOf } from '@plant-store/shared/runtime/failures.ts'
import { type HttpResponse, rejectConnect, sendOnSocket } from '@plant-store/shared/runtime/http-response.ts'
import type { Logger } from '@plant-store/shared/runtime/json-log.ts'
import fastify, { type FastifyBaseLogger, type FastifyHttpOptions, LogController } from 'fastify'
import { type ApiSettings, type HttpSettings, listed } from '../settings.ts'
import { bodyOf, type Failure, headersOf, statusOf } from './errors.ts'
import { MAX_TOKEN_CHARACTERS, originForm, REQUEST_ID_HEADER, requestIdOf } from './request-head.ts'

/** Bytes of the request line and the headers, or more if a token and the partitions need it. */
const MAX_HEADER_BYTES = 16_384
/** Room for a position in a consistency token, and a number in a cursor. */
const MAX_PARTITION_BYTES = 32
/** The interval at which Node looks for requests that did not arrive in time. */
const TIMEOUTS_CHECKED_EVERY_MS = 1_000

const CLIENT_ERRORS: Record<string, Failure> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'bodyTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
}

export type ServerOptions = {
  settings: HttpSettings
  partitions: number
  log: Logger
  /** Certificate and key; without them the server speaks plain HTTP. */
  tls: Pick<TlsOptions, 'cert' | 'key'> | undefined
}

/** Creates Fastify and Node's server below it, within the limits. Their built-in error responses are turned off. */
export function createServer({ settings, partitions, log, tls }: ServerOptions) {
  const trustedProxies = listed(settings.TRUST_PROXY)
  const headersTimeout = Math.min(settings.HEADERS_TIMEOUT_MS, settings.REQUEST_TIMEOUT_MS)
  const http = {
    // headErrorOf checks it: Node's response has no body.
    requireHostHeader: false,
    maxHeaderSize: Math.max(MAX_HEADER_BYTES, MAX_TOKEN_CHARACTERS + partitions * MAX_PARTITION_BYTES),
    headersTimeout,
    // Fastify sets it, too; Node compares it with headersTimeout before that.
    requestTimeout: settings.REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
  }
  // Node's server for TLS has the methods and events of the plain one.
  const server = (
    tls === undefined ? { http } : { https: { ...http, ...tls, handshakeTimeout: headersTimeout, allowHalfOpen: true } }
  ) as Pick<FastifyHttpOptions<Server>, 'http'>
  return fastify({
    ...server,
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIdOf,
    bodyLimit: settings.BODY_MAX_BYTES,
    requestTimeout: settings.REQUEST_TIMEOUT_MS,
    connectionTimeout: settings.ANSWER_TIMEOUT_MS,
    keepAliveTimeout: settings.KEEP_ALIVE_TIMEOUT_MS,
    // The size of a head is the limit. Fastify would respond to a longer parameter without any hook.
    routerOptions: { maxParamLength: Number.MAX_SAFE_INTEGER },
    rewriteUrl: ({ url = '/' }) => routable(originForm(url)),
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    // respondToNodeFailures handles client errors.
    clientErrorHandler() {},
    // Admission control responds while closing: Fastify's own 503 has another shape.
    return503OnClosing: false,
  }).withTypeProvider<TypeBoxTypeProvider>()
}

/** Throws a PreconditionError for a port that cannot be used. */
export async function listenAt(
  app: ReturnType<typeof createServer>,
  { PORT: port, HOST: host }: Pick<ApiSettings, 'PORT' | 'HOST'>,
): Promise<void> {
  try {
    // For the name localhost, Fastify would open a second server for another address, without the limits of this one.
    const { address } = await lookup(host)
    await app.listen({ port, host: address, listenTextResolver: (url) => `listening at ${url}` })
  } catch (error) {
    throw listenErrorOf(error, port, host, 'PORT')
  }
}

/** A target that no route has for one that cannot be decoded, to which Fastify would respond without any hook. */
function routable(target: string): string {
  if (!target.includes('%')) return target
  const [path = ''] = target.split(/[?#]/, 1)
  return resultOf(() => decodeURIComponent(path)) === undefined ? `/${target.replaceAll('%', '%25')}` : target
}

/**
 * The response to the latest request of a connection that had a readable head, until both are complete; its `req` is the
 * request.
 */
export type LatestResponse = (socket: Socket) => ServerResponse | undefined

/**
 * Responds in the Error shape where Node itself would respond with an empty body or not at all: to unreadable and
 * incomplete requests, and CONNECT. Returns the latest responses, which it tracks.
 */
export function respondToNodeFailures(server: Server): LatestResponse {
  // By default Node silently drops headers beyond a count; their bytes are bounded anyway.
  server.maxHeadersCount = 0
  // A client that has ended its side may still wait for responses (RFC 9112 9.6).
  Object.assign(server, { httpAllowHalfOpen: true })
  const secured = new WeakSet<Socket>()
  server.on('secureConnection', (socket: Socket) => {
    secured.add(socket)
    // Node's parser fails when it gets requests while it is paused, as it does from TLS when many are pipelined. A
    // listener has them come through the socket, which waits.
    socket.on('data', () => undefined)
  })
  const unreadable = new WeakSet<Socket>()
  const latest = new WeakMap<Socket, ServerResponse | undefined>()
  const latestOn: LatestResponse = (socket) => latest.get(socket)
  // Prepended, because Fastify's own listener may respond at once.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    latest.set(request.socket, response)
    response.once('close', () => {
      // While the connection is idle, thousands of headers would take 200 KB.
      if (request.complete && latestOn(request.socket) === response) latest.set(request.socket, undefined)
    })
    // Node drops what follows an Upgrade in the same packet: a client would match later responses to the wrong
    // requests.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
  })
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    const failure = CLIENT_ERRORS[error.code ?? ''] ?? 'malformedRequest'
    const isInHandshake = socket instanceof TLSSocket && !secured.has(socket)
    if (error.code === 'ECONNRESET' || !socket.writable || isInHandshake) socket.destroy()
    // Node emits the error again for each packet that follows.
    else if (!unreadable.has(socket)) sendInOrder(socket, latestOn(socket), responseOf(failure))
    unreadable.add(socket)
  })
  // The connection was idle. A client that does not read would keep its responses in memory permanently; one that waits
  // for a response may continue to wait.
  server.on('timeout', (socket: Socket) => {
    const isAnswered = latest.has(socket) && latestOn(socket)?.writableFinished !== false
    if (isAnswered || socket.writableLength > 0) socket.destroy()
  })
  // Only the checks of the head show whether the body is wanted, and whether nothing else is expected.
  for (const event of ['checkContinue', 'checkExpectation'])
    server.on(event, (request: IncomingMessage, response: ServerResponse) => {
      server.emit('request', request, response)
    })
  rejectConnect(server, (socket, request) => {
    sendInOrder(socket, latestOn(socket), responseOf('methodNotAllowed', request))
  })
  return latestOn
}

/** Responds to an unreadable request after the earlier ones on its connection: HTTP/1 matches responses by order. */
function sendInOrder(socket: Socket, latest: ServerResponse | undefined, response: HttpResponse): void {
  if (latest?.req.complete === false) {
    // The unreadable part is the body of the latest request. That request's response has the socket when all earlier
    // ones are sent.
    if (latest.headersSent || latest.socket !== socket) socket.destroy()
    else sendOnSocket(socket, response)
  } else if (latest?.writableFinished === false) {
    latest.once('close', () => {
      if (socket.writable) sendOnSocket(socket, response)
    })
  } else sendOnSocket(socket, response)
}

/** Without the request for one that is unreadable. */
function responseOf(failure: Failure, request?: IncomingMessage): HttpResponse {
  const headers = {
    ...headersOf(failure),
    ...(request && { [REQUEST_ID_HEADER]: requestIdOf(request) }),
    ...(failure === 'methodNotAllowed' && { allow: 'GET, HEAD, POST' }),
    connection: 'close',
    'content-type': 'application/json',
  }
  return { status: statusOf(failure), headers, body: JSON.stringify(bodyOf(failure)) }
}
