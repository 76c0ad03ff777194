import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bodyOf, ERRORS, type Failure, HttpError, headersOf, statusOf } from './errors.ts'

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
  return reply
    .code(statusOf(failure))
    .headers(headersOf(failure))
    .type('application/json')
    .serializer(JSON.stringify)
    .send(bodyOf(failure, message))
}

/** Answers whatever was thrown, by a handler, a hook or Fastify itself, in the Error shape. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof HttpError)
    return answerFailure(reply.headers(error.headers), error.failure, error.message)
  const {
    code = '',
    validation,
    statusCode = 500,
  } = (error instanceof Error ? error : {}) as Partial<FastifyError>
  if (validation !== undefined) return answerFailure(reply, 'invalidPlant', describeFaults(validation))
  const known = FAILURES[code]
  if (known !== undefined) return answerFailure(reply, known)
  if (statusCode >= 400 && statusCode < 500) return answerFailure(reply, 'malformedRequest')
  request.log.error({ err: error }, 'a request failed')
  return answerFailure(reply, 'internal')
}

function describeFaults(faults: NonNullable<FastifyError['validation']>): string {
  const said = faults.map(({ instancePath, keyword, message, params }) => {
    if (keyword === 'required') {
      const missing = (params as { requiredProperties?: string[] }).requiredProperties ?? []
      return `missing: ${missing.join(', ')}`
    }
    return `${instancePath.slice(1) || 'the body'} ${message ?? 'is invalid'}`
  })
  return `${ERRORS.invalidPlant[1]}: ${said.join('; ')}`
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Known paths answer other methods with 405 and Allow, unknown paths with 404. */
export function answerUnknownRoute(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const path = request.url.split('?')[0] ?? ''
  const allowed = METHODS.filter((method) => app.findRoute({ method, url: routeOf(path) }) !== null)
  if (allowed.length === 0) return answerFailure(reply, 'noSuchRoute')
  return answerFailure(reply.header('allow', allowed.join(', ')), 'methodNotAllowed')
}

function routeOf(path: string): string {
  return /^\/plants\/[^/]+$/.test(path) ? '/plants/:id' : path
}
