import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { answerFailure } from './error-responses.ts'
import { HttpError } from './errors.ts'
import type { LatestResponse } from './latest-response.ts'

export type AdmissionLimits = {
  /** Requests worked on at a time. What a client that left has begun counts until it ends. */
  maxRequests: number
  /** Connections beyond these are told that there are too many; beyond twice as many they are only closed. */
  maxConnections: number
}

export type Admission = ReturnType<typeof createAdmission>

/**
 * Decides first of all, before token and body are looked at, whether a request is taken in: neither when too
 * much is under way nor at the end. A refusal costs little, so that those taken in are answered as fast as ever.
 */
export function createAdmission(
  app: FastifyInstance,
  latestOn: LatestResponse,
  { maxRequests, maxConnections }: AdmissionLimits,
) {
  const connections = new Set<Socket>()
  const surplus = new WeakSet<Socket>()
  let underWay = 0
  let phase: 'open' | 'draining' | 'closing' = 'open'

  app.server.maxConnections = 2 * maxConnections
  app.server.on('connection', (socket: Socket) => {
    if (connections.size >= maxConnections) surplus.add(socket)
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })

  /** Counts `work` until it ends. Throws an HttpError when there is no room for it by now. */
  async function counted<T>(work: () => Promise<T> | T): Promise<T> {
    // Those that came in one packet, or whose bodies came later, were all let in while there was room.
    if (underWay >= maxRequests) throw new HttpError('overloaded')
    underWay++
    try {
      return await work()
    } finally {
      underWay--
    }
  }

  app.addHook('preClose', async () => {
    phase = 'closing'
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (phase === 'closing') answerFailure(reply, 'unavailable')
    else if (surplus.has(request.raw.socket)) {
      answerFailure(reply.header('connection', 'close'), 'overloaded', 'too many connections; try again')
    } else if (underWay >= maxRequests) answerFailure(reply, 'overloaded')
    else done()
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    // Not before its last answer: what others on it were asked may have been done already.
    if (phase !== 'open' && latestOn(request.raw.socket) === reply.raw) reply.header('connection', 'close')
    done()
  })

  return {
    /** Requests that are worked on now. */
    underWay: (): number => underWay,
    connections: (): number => connections.size,
    counted,

    /** Counts what the routes work on that are added to `scope` from now on. */
    count(scope: FastifyInstance): void {
      scope.addHook('onRoute', (route) => {
        const { handler } = route
        route.handler = async function countedHandler(request, reply) {
          return counted(() => handler.call(this, request, reply))
        }
      })
    },

    /**
     * Has every connection end when what it asked is answered: a client that reads `Connection: close` sends nothing more into a
     * connection that is about to be gone. Resolves when none is left, or after `withinMs`.
     */
    async drain(withinMs: number): Promise<void> {
      phase = 'draining'
      const allClosed = Promise.all([...connections].map(closed))
      await Promise.race([allClosed, delay(withinMs, undefined, { ref: false })])
    },
  }
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
  })
}
