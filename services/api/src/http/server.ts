import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { Logger } from '@plant-store/shared/runtime/json-log.ts'
import fastify, { type FastifyBaseLogger, type FastifyReply, LogController } from 'fastify'
import type { HttpLimits } from '../settings.ts'
import { answerError } from './error-responses.ts'
import { requestIdOf } from './request-id.ts'
import type { RequestObserver } from './request-observer.ts'

const MAX_PATH_PARAMETER_CHARACTERS = 1_000
/** How late Node may notice that a request did not arrive in time. */
const TIMEOUTS_CHECKED_EVERY_MS = 1_000

/** Fastify and Node's server below it, within the limits; every case that they answer by themselves is turned off. */
export function createServer(limits: HttpLimits, observer: RequestObserver, log: Logger) {
  return fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIdOf,
    bodyLimit: limits.BODY_MAX_BYTES,
    requestTimeout: limits.REQUEST_TIMEOUT_MS,
    connectionTimeout: limits.ANSWER_TIMEOUT_MS,
    keepAliveTimeout: limits.KEEP_ALIVE_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER_CHARACTERS },
    rewriteUrl: ({ url = '/' }) => originForm(url),
    http: {
      // Answered by faultOfHead: Node's answer has no body.
      requireHostHeader: false,
      maxHeaderSize: limits.HEADERS_MAX_BYTES,
      headersTimeout: Math.min(limits.HEADERS_TIMEOUT_MS, limits.REQUEST_TIMEOUT_MS),
      connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
    },
    // Answered by answerNodesOwnCases.
    clientErrorHandler() {},
    frameworkErrors: (error, request, reply: FastifyReply) => {
      observer.observeOne(request, reply)
      answerError(error, request, reply)
    },
    // While closing, answered by admission: Fastify's own 503 has another shape.
    return503OnClosing: false,
  }).withTypeProvider<TypeBoxTypeProvider>()
}

/** The path and query of a request target that names the whole URL, as one sent to a proxy (RFC 9112 3.2.2). */
function originForm(target: string): string {
  return /^https?:\/\//i.test(target) ? target.replace(/^https?:\/\/[^/?]*\/?/i, '/') : target
}
