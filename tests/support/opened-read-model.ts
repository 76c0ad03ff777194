import { randomUUID } from 'node:crypto'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Patience } from '@plant-store/shared/read-model/redis.ts'
import { inject, onTestFinished } from 'vitest'
import { openRedis } from './plant-store.ts'
import { quietLog } from './quiet-log.ts'

type Place = { topic?: string; partitions?: number; redisUrl?: string } & Patience

/** The read model of a topic, a separate one unless it is named, on a real Redis until the test ends. */
export async function openReadModel({
  topic = `plants-${randomUUID()}`,
  partitions = 3,
  redisUrl = inject('redisUrl'),
  ...patience
}: Place = {}) {
  const readModel = createReadModel({ redis: { REDIS_URL: redisUrl }, topic, partitions }, quietLog, patience)
  onTestFinished(readModel.close)
  await readModel.ready()
  return { topic, partitions, readModel, redis: openRedis(redisUrl) }
}
