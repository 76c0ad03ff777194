import { exampleBody, PLANT_EXAMPLES } from '@plant-store/shared/plant/plant.ts'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bodyOf, ERRORS, type Failure, HttpError, headersOf, statusOf } from './errors.ts'
import { dropBody, OtherNumber } from './request-body.ts'
import { hasEmptyId } from './request-head.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const MAX_QUOTED_CHARACTERS = 40

export function sendFailure(reply: FastifyReply, failure: Failure, message?: string): FastifyReply {
  reply.failure = failure
  dropBody(reply.request)
  return reply
    .code(statusOf(failure))
    .headers(headersOf(failure))
    .type('application/json')
    .serializer(JSON.stringify)
    .send(bodyOf(failure, message))
}

/** Responds in the Error shape to anything thrown by a handler, a hook or Fastify itself. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // Fastify ends the connection of a body that it could not parse; when all of it has arrived there is no need.
  // (Without the header Node omits "Keep-Alive", too, which gives clients the idle timeout of the connection.)
  if (request.raw.complete && reply.raw.shouldKeepAlive && reply.hasHeader('connection'))
    reply.removeHeader('connection')
  reply.cause = error instanceof HttpError ? error.cause : undefined
  if (error instanceof HttpError) return sendFailure(reply.headers(error.headers), error.failure, error.message)
  const thrown = (error instanceof Error ? error : {}) as Partial<FastifyError>
  const { code, validation, validationContext, statusCode = 500 } = thrown
  if (validation !== undefined) {
    const isPlant = request.routeOptions.config.operation?.failures.includes('invalidPlant')
    if (validationContext !== 'body' || !isPlant) {
      const message = `the ${validationContext} does not match the description of this operation in /openapi.json`
      return sendFailure(reply, 'malformedRequest', message)
    }
    const faults = validation.flatMap((fault) => describe(fault, request.body)).join('; ')
    return sendFailure(reply, 'invalidPlant', `${ERRORS.invalidPlant[1]}: ${faults}`)
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return sendFailure(reply, 'unsupportedMediaType')
  if (statusCode >= 400 && statusCode < 500) return sendFailure(reply, 'malformedRequest')
  reply.cause = error
  return sendFailure(reply, 'internal')
}

/** Responds with 405 and Allow for a known path, with 404 for an unknown one. */
export function sendUnknownRoute(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const url = request.url.split('?')[0] ?? ''
  const allowed = METHODS.filter((method) => {
    const route = app.findRoute({ method, url })
    return route !== null && !hasEmptyId(route.params)
  })
  if (allowed.length === 0) return sendFailure(reply, 'noSuchRoute')
  return sendFailure(reply.header('allow', allowed.join(', ')), 'methodNotAllowed')
}

type Fault = NonNullable<FastifyError['validation']>[number]

/** A fault of the plant in a body, field by field: what is expected, and what was sent. */
function describe({ keyword, instancePath, params, message }: Fault, body: unknown): string | string[] {
  const field = instancePath.slice(1)
  if (field === '' && (keyword !== 'required' || body instanceof OtherNumber))
    return `the body must be a JSON object, such as ${exampleBody(PLANT_EXAMPLES.bare)}, but it is ${quoted(body)}`
  if (keyword === 'required') {
    return (params as { requiredProperties: string[] }).requiredProperties.map((name) => `${name} is missing`)
  }
  const found = (body as Record<string, unknown>)[field]
  if (keyword === 'maxLength') {
    const { limit } = params as { limit: number }
    const length = Array.from(String(found)).length
    return `${field} must have at most ${limit} characters (Unicode code points), but it has ${length}`
  }
  if (keyword === 'enum') {
    const { allowedValues } = params as { allowedValues: string[] }
    return `${field} must be one of ${allowedValues.map((value) => JSON.stringify(value)).join(', ')}, but it is ${quoted(found)}`
  }
  const expected = keyword === 'type' ? 'must be a string' : message
  return `${field} ${expected}, but it is ${quoted(found)}`
}

/** A value as a message quotes it: one short line. */
function quoted(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'an array'
  if (value instanceof OtherNumber) return shortened(value.text)
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortened(typeof value === 'bigint' ? String(value) : JSON.stringify(value))
}

function shortened(text: string): string {
  const characters = Array.from(text)
  return characters.length <= MAX_QUOTED_CHARACTERS ? text : `${characters.slice(0, MAX_QUOTED_CHARACTERS).join('')}…`
}
