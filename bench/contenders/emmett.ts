import type { Contender } from '../contender.ts'
import { onPostgres } from './on-postgres.ts'

export const emmett: Contender = onPostgres({
  name: 'Fastify + emmett on PostgreSQL',
  promise: 'one stream a plant, unique; on the disk of one machine (fsync)',
  store: 'emmett',
  fsync: true,
  poolSize: 20,
  keeps: `EXISTS (SELECT FROM emt_messages WHERE stream_id = 'plant-' || acknowledged.id AND stream_position = 1)`,
})
