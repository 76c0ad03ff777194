import { randomUUID } from 'node:crypto'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Patience } from '@plant-store/shared/read-model/redis.ts'
import { expect, inject, onTestFinished } from 'vitest'
import type { LogBatch } from './generated-logs.ts'
import { openRedis } from './plant-store.ts'
import { quietLog } from './quiet-log.ts'
import { pointerOf } from './stored-partition.ts'

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
  const redis = openRedis(redisUrl)
  return {
    ...{ topic, partitions, readModel, redis },

    /** The key of this kind of the live generation of a partition. */
    keyOf: async (partition: Partition, kind: string) =>
      `{${topic}:${partition}}:${await redis.get(pointerOf(topic, partition))}:${kind}`,

    /** Applies a batch to a partition, which has this checkpoint. Returns the next one. */
    async apply(
      partition: Partition,
      from: Checkpoint,
      { records, next }: LogBatch,
      freshGeneration: string = randomUUID(),
    ) {
      expect(await readModel.apply(partition, from, next, records, freshGeneration)).toEqual({ is: 'applied' })
      return next
    },
  }
}
