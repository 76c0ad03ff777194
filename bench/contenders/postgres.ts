import type { Contender } from '../contender.ts'
import { onPostgres } from './on-postgres.ts'

const ROW = {
  store: 'postgres',
  poolSize: 20,
  keeps: 'EXISTS (SELECT FROM plants WHERE plants.id = acknowledged.id)',
} as const

export const postgres: Contender = onPostgres({
  ...ROW,
  name: 'Fastify + PostgreSQL',
  promise: 'one INSERT a request, unique; on the disk of one machine (fsync)',
  fsync: true,
})

export const postgresWithoutFsync: Contender = onPostgres({
  ...ROW,
  name: 'Fastify + PostgreSQL, fsync off',
  promise: 'one INSERT a request, unique; in the memory of one machine',
  fsync: false,
})
