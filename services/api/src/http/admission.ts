import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { delay, systemTime } from '@plant-store/shared/runtime/time.ts'
import type { FastifyInstance } from 'fastify'
import type { Caller } from '../auth/require-access.ts'
import type { HttpSettings } from '../settings.ts'
import { sendFailure } from './error-responses.ts'
import { HttpError } from './errors.ts'
import { connectionsPermitted } from './file-descriptors.ts'
import type { LatestResponse } from './server.ts'

export type Admission = ReturnType<typeof createAdmission>

/** The drain time for requests in transit when the process must end soon. */
const HURRIED_DRAIN_MS = 500
const RATE_WINDOW_MS = 60_000
const MAX_CALLERS_COUNTED = 10_000

/**
 * Admission control: decides before the token and the body are read whether a request is admitted. It rejects
 * requests under overload and during shutdown. A rejection costs little, so that admitted requests stay fast. A request
 * in flight whose client has left counts until its work ends. Connections beyond the limit get a 503; those beyond twice
 * the limit, or without a file descriptor, are closed without a response.
 */
export function createAdmission(
  app: FastifyInstance,
  latestOn: LatestResponse,
  { REQUESTS_MAX: maxRequests, CONNECTIONS_MAX: maxConnections }: HttpSettings,
  log: Log,
) {
  const connections = new Set<Socket>()
  const surplus = new WeakSet<Socket>()
  let inFlight = 0
  let phase: 'open' | 'draining' | 'closing' = 'open'

  const permitted = connectionsPermitted(maxConnections, log)
  app.server.maxConnections = Math.min(2 * maxConnections, permitted)
  // With TLS this is the socket below it: a connection counts from its start.
  app.server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  app.server.on(app.server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    if (connections.size > maxConnections) surplus.add(socket)
  })

  /** Counts `work` until it ends. Throws an HttpError when the limit is reached. */
  async function counted<T>(work: () => Promise<T> | T): Promise<T> {
    // Checked again: requests of one packet, or with late bodies, all passed onRequest while there was room.
    if (inFlight >= maxRequests) throw new HttpError('overloaded')
    inFlight++
    try {
      return await work()
    } finally {
      inFlight--
    }
  }

  app.addHook('preClose', async () => {
    phase = 'closing'
  })
  app.addHook('onRequest', (request, reply, done) => {
    // Requests that were read together with the one for which the connection was closed.
    if (request.raw.socket.destroyed) reply.hijack()
    else if (phase === 'closing') sendFailure(reply, 'unavailable')
    else if (surplus.has(request.raw.socket)) {
      sendFailure(reply.header('connection', 'close'), 'overloaded', 'too many connections; try again later')
    } else if (inFlight >= maxRequests) sendFailure(reply, 'overloaded')
    else done()
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    // Only with the last response: earlier requests on the connection may have been carried out already.
    if (phase !== 'open' && latestOn(request.raw.socket) === reply.raw) reply.header('connection', 'close')
    done()
  })

  return {
    inFlight: (): number => inFlight,
    connections: (): number => connections.size,
    connectionsMax: Math.min(maxConnections, permitted),
    counted,

    /** Counts the requests of all routes that are added to `scope` from now on. */
    count(scope: FastifyInstance): void {
      scope.addHook('onRoute', (route) => {
        const { handler } = route
        route.handler = async function countedHandler(request, reply) {
          return counted(() => handler.call(this, request, reply))
        }
      })
    },

    /**
     * Ends every connection with its last response, for `ms`: a client that reads `Connection: close` sends no further
     * request into a connection that is about to end. New connections are accepted all that time, because a load
     * balancer may still send requests. `hurry` cuts it short.
     */
    async drain(ms: number, hurry: AbortSignal): Promise<void> {
      phase = 'draining'
      await delay(systemTime, ms, hurry)
      if (hurry.aborted) await delay(systemTime, Math.min(ms, HURRIED_DRAIN_MS))
    },

    /** Closes every connection, also one that is still in its TLS handshake. */
    endConnections(): void {
      for (const socket of connections) socket.destroy()
    },
  }
}

/**
 * Limits the requests per minute of each caller, over all of its tokens, to this instance. Responses have the fields of
 * draft-ietf-httpapi-ratelimit-headers, and the three of its first versions.
 */
export function limitRates(operations: FastifyInstance, perMinute: number): void {
  const policy = `"caller";q=${perMinute};w=${RATE_WINDOW_MS / 1_000}`
  const windows = new Map<Caller, { requests: number; startedAt: number }>()

  function count(caller: Caller) {
    // Not the machine's clock: after a step back, it would refuse a caller for as long.
    const now = systemTime.now()
    const known = windows.get(caller)
    const isOver = known === undefined || now - known.startedAt >= RATE_WINDOW_MS
    const window = isOver ? { requests: 0, startedAt: now } : known
    window.requests++
    // Moved to the end of the map: the first one is the caller that was counted least recently.
    windows.delete(caller)
    windows.set(caller, window)
    const [first] = windows.keys()
    if (first !== undefined && windows.size > MAX_CALLERS_COUNTED) windows.delete(first)
    const seconds = Math.ceil((RATE_WINDOW_MS - (now - window.startedAt)) / 1_000)
    return { requests: window.requests, seconds }
  }

  operations.addHook('onRequest', ({ caller }, reply, done) => {
    const { requests, seconds } = count(caller)
    const remaining = Math.max(0, perMinute - requests)
    reply.headers({
      'ratelimit-policy': policy,
      ratelimit: `"caller";r=${remaining};t=${seconds}`,
      'ratelimit-limit': perMinute,
      'ratelimit-remaining': remaining,
      'ratelimit-reset': seconds,
    })
    if (requests <= perMinute) done()
    else done(new HttpError('tooManyRequests', undefined, { 'retry-after': String(seconds) }))
  })
}
