import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bodyOf, ERRORS, type Failure, HttpError, headersOf, statusOf } from './errors.ts'
import { describeFaults } from './plant-faults.ts'

/** What Fastify and Node call a failure, and what it is here. */
const FAILURES: Record<string, Failure> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'bodyTooLarge',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupportedMediaType',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'malformedJson',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformedRequest',
  FST_ERR_BAD_URL: 'noSuchRoute',
  FST_ERR_MAX_PARAM_LENGTH: 'noSuchRoute',
  FST_ERR_ASYNC_CONSTRAINT: 'malformedRequest',
}

export function answerFailure(reply: FastifyReply, failure: Failure, message?: string): FastifyReply {
  reply.failure = failure
  return reply
    .code(statusOf(failure))
    .headers(headersOf(failure))
    .type('application/json')
    .serializer(JSON.stringify)
    .send(bodyOf(failure, message))
}

/** Answers whatever was thrown, by a handler, a hook or Fastify itself, in the Error shape. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // Fastify ends the connection of a body that it could not read; one that has arrived is no reason to.
  // (Where it was removed Node leaves out "Keep-Alive", too, by which clients know how long the connection may wait.)
  if (request.raw.complete && reply.raw.shouldKeepAlive && reply.hasHeader('connection'))
    reply.removeHeader('connection')
  reply.cause = error instanceof HttpError ? error.cause : undefined
  if (error instanceof HttpError)
    return answerFailure(reply.headers(error.headers), error.failure, error.message)
  const {
    code = '',
    validation,
    statusCode = 500,
  } = (error instanceof Error ? error : {}) as Partial<FastifyError>
  if (validation !== undefined) {
    const faults = describeFaults(validation, request.body)
    return answerFailure(reply, 'invalidPlant', `${ERRORS.invalidPlant[1]}: ${faults}`)
  }
  const known = FAILURES[code]
  if (known !== undefined) return answerFailure(reply, known)
  if (statusCode >= 400 && statusCode < 500) return answerFailure(reply, 'malformedRequest')
  reply.cause = error
  return answerFailure(reply, 'internal')
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Known paths answer other methods with 405 and Allow, unknown paths with 404. */
export function answerUnknownRoute(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const url = request.url.split('?')[0] ?? ''
  const allowed = METHODS.filter((method) => {
    const route = app.findRoute({ method, url })
    return route !== null && !namesNothing(route.params)
  })
  if (allowed.length === 0) return answerFailure(reply, 'noSuchRoute')
  return answerFailure(reply.header('allow', allowed.join(', ')), 'methodNotAllowed')
}

/** The router takes `/plants/` for a plant without an id. */
export function namesNothing(params: unknown): boolean {
  return (params as { id?: string }).id === ''
}
