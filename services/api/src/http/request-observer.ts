import { type Logger, type TraceIds, traceIds } from '@plant-store/shared/runtime/json-log.ts'
import { createLineLimit } from '@plant-store/shared/runtime/line-limit.ts'
import { parseTraceparent } from '@plant-store/shared/tracing/traceparent.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { TOKEN_HEADER } from './consistency-token.ts'
import { ERRORS, type Failure, statusOf } from './errors.ts'
import { REQUEST_ID_HEADER } from './request-head.ts'
import { clientAddressOf } from './trusted-proxies.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** The failure that the response reports; set with the response. */
    failure: Failure | undefined
    /** The error behind the failure, for the log. */
    cause: unknown
    /** True once the response has started. */
    isStarted: boolean
  }
}

/** A request and its result, for the metrics: each field has a bounded set of values. */
export type CompletedRequest = {
  method: string
  /** The pattern of the path, never the path itself. */
  route: string
  /** The status of the response; 0 when the client left before it was sent. */
  status: number
  /** The error number of a failure. */
  error: number | undefined
  durationMs: number
}

export type RequestObserverOptions = {
  log: Logger
  /** Called with the ids of the request's span, when it has one. */
  onCompleted?: ((request: CompletedRequest, ids: TraceIds | undefined) => void) | undefined
  /** The reasons why this instance is not ready, for an operator. */
  problems?: (() => string[]) | undefined
}

/** The route of all paths without one. */
const NO_ROUTE = 'unknown'
const CLIENT_LEFT = 0

/**
 * Gives each request its id and reports its result: to `onCompleted`, and in one log line, at debug unless the service
 * failed. Bodies, tokens and keys are never logged. Called before any hook that may respond.
 */
export function observeRequests(
  app: FastifyInstance,
  { log, onCompleted, problems = () => [] }: RequestObserverOptions,
): void {
  const limits = new Map(LIMITED.map((failure) => [failure, createLineLimit()]))

  function report(request: FastifyRequest, reply: FastifyReply): void {
    const { failure } = reply
    const completed: CompletedRequest = {
      method: request.method,
      route: request.routeOptions.url ?? NO_ROUTE,
      status: reply.raw.writableFinished ? reply.statusCode : CLIENT_LEFT,
      error: failure === undefined ? undefined : ERRORS[failure][0],
      durationMs: reply.elapsedTime,
    }
    onCompleted?.(completed, traceIds(request.span))
    const limit = limits.get(failure)
    const leftOut = limit === undefined ? 0 : limit()
    const level = leftOut === undefined ? 'debug' : levelOf(failure)
    if (!log.isLevelEnabled(level)) return
    const message = isServerFailure(failure) ? 'request failed' : 'request completed'
    request.log[level]({ ...describe(completed, request, reply), ...(leftOut && { leftOut }) }, message)
  }

  function describe(completed: CompletedRequest, request: FastifyRequest, reply: FastifyReply): object {
    const { failure, cause } = reply
    return {
      ...completed,
      client: clientAddressOf(request),
      caller: request.caller || undefined,
      position: reply.getHeader(TOKEN_HEADER),
      traceparent: parseTraceparent(request.headers.traceparent),
      ...traceIds(request.span),
      failure,
      ...(isServerFailure(failure) && { problems: problems() }),
      ...(cause !== undefined && { err: cause }),
    }
  }

  app.decorateReply('failure', undefined)
  app.decorateReply('cause', undefined)
  app.decorateReply('isStarted', false)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID_HEADER, request.id)
    reply.raw.once('close', () => {
      if (reply.isStarted) report(request, reply)
    })
    done()
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    // The client has left, and Fastify calls no onResponse. The result is known only now.
    if (reply.raw.closed && !reply.isStarted) report(request, reply)
    reply.isStarted = true
    done()
  })
}

function isServerFailure(failure: Failure | undefined): boolean {
  return failure !== undefined && statusOf(failure) >= 500
}

/** Failures that a client can cause at any rate, without a right to write. */
const LIMITED: readonly (Failure | undefined)[] = ['coverageGap', 'tokensUncheckable', 'unreadablePlant']

/** Rejections by admission control: there may be thousands a second just when the service has no time to log them. */
const LOGGED_AT_DEBUG: readonly (Failure | undefined)[] = ['overloaded', 'unavailable']

function levelOf(failure: Failure | undefined): 'debug' | 'warn' | 'error' {
  if (!isServerFailure(failure) || LOGGED_AT_DEBUG.includes(failure)) return 'debug'
  return statusOf(failure as Failure) === 500 ? 'error' : 'warn'
}
