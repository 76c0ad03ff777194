import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox'
import { PLANT_EXAMPLES, Plant, parsePlantId } from '@plant-store/shared/plant/plant.ts'
import { formatPosition } from '@plant-store/shared/plant/position.ts'
import { notCovered, TOKEN_HEADER, tokenOf } from '../http/consistency-token.ts'
import { entityTagOf, sendTagged } from '../http/entity-tag.ts'
import { HttpError } from '../http/errors.ts'
import type { OperationFacts } from '../openapi/operation.ts'
import type { PlantReader } from './read-plant.ts'

/**
 * A plant never changes, so a client may keep it without asking again, for its own use: a token decides who sees it. A
 * day, because a restored backup may lack the newest plants.
 */
const CACHE_CONTROL = 'private, max-age=86400, immutable'
const JSON_TYPE = 'application/json'

const SCHEMA = {
  operationId: 'readPlant',
  summary: 'Reads a plant by its id',
  description: 'An addition. Any plant that this instance has shown is found.',
  params: Type.Object({
    id: Type.String({
      format: 'int64',
      description: 'Identification number of the plant, in decimal: without leading zeros, `+` or a fraction',
    }),
  }),
  response: { 200: Plant },
}

const FACTS: OperationFacts = {
  response: 'The plant with this id',
  failures: ['invalidId', 'invalidPosition', 'noSuchRoute', 'noSuchPlant', 'unreadablePlant', 'coverageGap'],
  requestHeaders: ['Plants-Position', 'If-None-Match'],
  responseHeaders: ['ETag', 'Cache-Control', 'Vary'],
  responseExample: PLANT_EXAMPLES.full,
}

/** GET /plants/{id} */
export const readPlantRoute: FastifyPluginAsyncTypebox<{ reader: PlantReader; partitions: number }> = async (
  app,
  { reader, partitions },
) => {
  app.get(
    '/plants/:id',
    { schema: SCHEMA, config: { scope: 'plants:read', operation: FACTS } },
    async ({ params, headers }, reply) => {
      const id = parsePlantId(params.id)
      if (id === undefined) throw new HttpError('invalidId')
      const token = tokenOf(headers[TOKEN_HEADER], partitions)
      const found = await reader.read(id, token)
      if (found.is === 'coverageGap') throw notCovered(token, found.cause)
      if (found.is !== 'plant') throw new HttpError(found.is)
      const body = reply.serialize(found.plant) as string
      // CORS may have set a Vary before.
      const vary = [reply.getHeader('vary'), 'Authorization'].filter(Boolean).join(', ')
      reply.headers({ [TOKEN_HEADER]: formatPosition(found), 'cache-control': CACHE_CONTROL, vary })
      return sendTagged(reply, entityTagOf(body), JSON_TYPE, body)
    },
  )
}
