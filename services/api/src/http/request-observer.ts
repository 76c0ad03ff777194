import { parseTraceparent } from '@plant-store/shared/plant/plant-created.ts'
import type { Logger } from '@plant-store/shared/runtime/json-log.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { TOKEN_HEADER } from './consistency-token.ts'
import { ERRORS, type Failure, statusOf } from './errors.ts'
import { REQUEST_ID_HEADER } from './request-id.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** Why the request fails, and the error behind that, if any; set with the answer. */
    failure: Failure | undefined
    cause: unknown
    /** Whether there is an answer, or its first byte at least. */
    isAnswered: boolean
  }
}

/** A request and what became of it, for the metrics: nothing in it is without bounds. */
export type AnsweredRequest = {
  method: string
  /** The pattern of the path, never the path itself. */
  route: string
  /** Of the answer; 0 when the client had left before it. */
  status: number
  /** The number of a failure. */
  error: number | undefined
  durationMs: number
}

export type RequestObserverOptions = {
  log: Logger
  onAnswered?: ((request: AnsweredRequest) => void) | undefined
  /** Why this instance can't do its work now, in words for an operator. */
  problems?: (() => string[]) | undefined
}

export type RequestObserver = ReturnType<typeof createRequestObserver>

/** The route of all paths that there are none for. */
const NO_ROUTE = 'unknown'
const CLIENT_LEFT = 0

/**
 * Names each request and notes what became of it: one line in the log at debug, or above it when the service failed, and
 * whatever `onAnswered` does. Nothing of bodies, tokens and keys is told.
 */
export function createRequestObserver({ log, onAnswered, problems = () => [] }: RequestObserverOptions) {
  function note(request: FastifyRequest, reply: FastifyReply): void {
    const { failure } = reply
    const answered: AnsweredRequest = {
      method: request.method,
      route: request.routeOptions.url ?? NO_ROUTE,
      status: reply.raw.writableFinished ? reply.statusCode : CLIENT_LEFT,
      error: failure === undefined ? undefined : ERRORS[failure][0],
      durationMs: reply.elapsedTime,
    }
    onAnswered?.(answered)
    const level = levelOf(failure)
    if (!log.isLevelEnabled(level)) return
    const message = isServerFailure(failure) ? 'a request failed' : 'answered'
    request.log[level](describe(answered, request, reply), message)
  }

  function describe(answered: AnsweredRequest, request: FastifyRequest, reply: FastifyReply): object {
    const { failure, cause } = reply
    return {
      ...answered,
      caller: request.caller || undefined,
      position: reply.getHeader(TOKEN_HEADER),
      traceparent: parseTraceparent(request.headers.traceparent),
      failure,
      ...(isServerFailure(failure) && { problems: problems() }),
      ...(cause !== undefined && { err: cause }),
    }
  }

  return {
    /** Has all requests of an application observed; comes before whatever may answer one. */
    observe(app: FastifyInstance): void {
      app.decorateReply('failure', undefined)
      app.decorateReply('cause', undefined)
      app.decorateReply('isAnswered', false)
      app.addHook('onRequest', (request, reply, done) => {
        reply.header(REQUEST_ID_HEADER, request.id)
        reply.raw.once('close', () => {
          if (reply.isAnswered) note(request, reply)
        })
        done()
      })
      app.addHook('onSend', (request, reply, _payload, done) => {
        // Its client has left; Fastify calls no onResponse then. What came of it is known only now.
        if (reply.raw.closed && !reply.isAnswered) note(request, reply)
        reply.isAnswered = true
        done()
      })
    },

    /** Observes a request that Fastify answers by its `frameworkErrors`, without hooks. */
    observeOne(request: FastifyRequest, reply: FastifyReply): void {
      reply.header(REQUEST_ID_HEADER, request.id)
      reply.raw.once('close', () => note(request, reply))
    },
  }
}

function isServerFailure(failure: Failure | undefined): boolean {
  return failure !== undefined && statusOf(failure) >= 500
}

/** What is refused only because there is too much, or the end near, may be thousands a second when least can be spared. */
const REFUSED_IN_PASSING: readonly (Failure | undefined)[] = ['overloaded', 'unavailable']

function levelOf(failure: Failure | undefined): 'debug' | 'warn' | 'error' {
  if (!isServerFailure(failure) || REFUSED_IN_PASSING.includes(failure)) return 'debug'
  return statusOf(failure as Failure) === 500 ? 'error' : 'warn'
}
