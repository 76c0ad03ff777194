import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type EventId, keyedEventId } from '@plant-store/shared/plant/event-id.ts'
import { NewPlant, Plant, plantOf } from '@plant-store/shared/plant/plant.ts'
import { ErrorBody, HttpError } from '../http/errors.ts'
import { formatPosition, POSITION_HEADER } from '../http/position.ts'
import type { PlantCreation } from './create-plant.ts'

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/

/** POST /plants */
export const createPlantRoute: FastifyPluginAsyncTypebox<{ creation: PlantCreation }> = async (
  app,
  { creation },
) => {
  app.post(
    '/plants',
    { schema: { body: NewPlant, response: { 200: Plant, 400: ErrorBody } } },
    async ({ body, caller, headers }, reply) => {
      const key = parseIdempotencyKey(headers['idempotency-key'])
      const eventId = key === undefined ? (randomUUID() as EventId) : keyedEventId(caller, key, body)
      const outcome = await creation.create({ plant: body, eventId, keyed: key !== undefined })
      if (outcome.is !== 'created' && outcome.is !== 'duplicate') throw new HttpError(outcome.is)
      const position = formatPosition(outcome)
      if (outcome.is === 'duplicate')
        throw new HttpError('duplicateId', undefined, { [POSITION_HEADER]: position })
      reply.header(POSITION_HEADER, position)
      return plantOf(body)
    },
  )
}

/** The key, with or without the quotes of a structured field's string (draft-ietf-httpapi-idempotency-key-header). */
function parseIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = String(header)
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text
  if (!VISIBLE_ASCII.test(key)) throw new HttpError('invalidIdempotencyKey')
  return key
}
