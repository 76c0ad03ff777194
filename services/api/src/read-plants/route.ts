import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox'
import { Plant } from '@plant-store/shared/plant/plant.ts'
import { parsePlantId } from '@plant-store/shared/plant/plant-id.ts'
import { ErrorBody, HttpError } from '../http/errors.ts'
import { formatPosition, POSITION_HEADER, parsePosition } from '../http/position.ts'
import type { PlantReader } from './read-plant.ts'

/** GET /plants/{id} */
export const readPlantRoute: FastifyPluginAsyncTypebox<{ reader: PlantReader; partitions: number }> = async (
  app,
  { reader, partitions },
) => {
  app.get(
    '/plants/:id',
    { schema: { params: Type.Object({ id: Type.String() }), response: { 200: Plant, 400: ErrorBody } } },
    async ({ params, headers }, reply) => {
      const id = parsePlantId(params.id)
      if (id === undefined) throw new HttpError('invalidId')
      const found = await reader.read(id, parsePosition(headers[POSITION_HEADER], partitions))
      if (found.is !== 'plant') throw new HttpError(found.is)
      reply.header(POSITION_HEADER, formatPosition(found))
      return found.plant
    },
  )
}
