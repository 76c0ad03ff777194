import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type EventId, keyedEventId } from '@plant-store/shared/plant/event-id.ts'
import { acceptedOf, NewPlant, PLANT_EXAMPLES, Plant } from '@plant-store/shared/plant/plant.ts'
import { formatPosition } from '@plant-store/shared/plant/position.ts'
import { parseTraceparent } from '@plant-store/shared/tracing/traceparent.ts'
import { TOKEN_HEADER } from '../http/consistency-token.ts'
import { HttpError } from '../http/errors.ts'
import { dropBody } from '../http/request-body.ts'
import type { OperationFacts } from '../openapi/operation.ts'
import type { PlantCreation } from './create-plant.ts'

const MAX_KEY_CHARACTERS = 255
/** A String of RFC 9651, section 3.3.3: `\"` and `\\` are the only escapes. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
/** Visible ASCII without the quote. */
const BARE = /^[\x21\x23-\x7e]+$/

const SCHEMA = {
  operationId: 'createPlant',
  summary: 'Creates a new plant in the store',
  description: 'An id that another plant has is refused as a duplicate, unless this is a retry of its own create.',
  response: { 200: Plant },
}

const FACTS: OperationFacts = {
  response: 'Plant response',
  failures: [
    'malformedJson',
    'invalidPlant',
    'duplicateId',
    'invalidIdempotencyKey',
    'notWritten',
    'outcomeUnknown',
    'coverageGap',
  ],
  requestHeaders: ['Idempotency-Key'],
  responseHeaders: ['Location'],
  bodyExamples: {
    plant: { summary: 'A plant', value: { id: 7, ...PLANT_EXAMPLES.full } },
    largeId: {
      summary: 'An id beyond 2^53, which stays exact',
      value: { id: 9_007_199_254_740_993n, ...PLANT_EXAMPLES.bare },
    },
  },
  responseExample: PLANT_EXAMPLES.full,
  links: {
    readPlant: {
      operationId: 'readPlant',
      parameters: { id: '$request.body#/id' },
      description: 'An addition: the plant can be read by its id at once.',
    },
  },
}

/** POST /plants */
export const createPlantRoute: FastifyPluginAsyncTypebox<{
  creation: Pick<PlantCreation, 'create'>
}> = async (app, { creation }) => {
  app.post(
    '/plants',
    {
      schema: { ...SCHEMA, body: NewPlant },
      config: { scope: 'plants:write', operation: FACTS },
    },
    async (request, reply) => {
      const { caller, headers, span } = request
      const key = parseIdempotencyKey(headers['idempotency-key'])
      const content = acceptedOf(request.body)
      const plant = { id: request.body.id, ...content }
      dropBody(request)
      const eventId = key === undefined ? (randomUUID() as EventId) : keyedEventId(caller, key, plant)
      const traceparent = parseTraceparent(headers.traceparent)
      const outcome = await creation.create({ plant, eventId, keyed: key !== undefined, traceparent, span })
      if (!('offset' in outcome)) throw new HttpError(outcome.is, undefined, {}, outcome.cause)
      const position = formatPosition(outcome)
      if (outcome.is === 'duplicate') throw new HttpError('duplicateId', undefined, { [TOKEN_HEADER]: position })
      reply.headers({ [TOKEN_HEADER]: position, location: `/plants/${plant.id}` })
      return content
    },
  )
}

/**
 * The key in an Idempotency-Key header: a String without parameters, as in draft-ietf-httpapi-idempotency-key-header,
 * or the same text without quotes; both spellings are the same key. Undefined without the header. Throws an HttpError
 * for an invalid one.
 */
export function parseIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const key = typeof header === 'string' ? unquote(header) : undefined
  if (key === undefined || key.length < 1 || key.length > MAX_KEY_CHARACTERS) {
    throw new HttpError('invalidIdempotencyKey')
  }
  return key
}

function unquote(header: string): string | undefined {
  if (BARE.test(header)) return header
  return QUOTED.exec(header)?.[1]?.replace(/\\(["\\])/g, '$1')
}
