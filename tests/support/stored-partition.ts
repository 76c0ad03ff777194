import { decodeEntry } from '@plant-store/shared/plant/entry.ts'
import { type PlantId, parsePlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import type { Redis } from 'ioredis'

/** All that Redis holds of a partition's live generation, key by key and not by way of the product's scripts. */
export type StoredPartition = {
  meta: Record<string, string>
  plants: Map<PlantId, Claim>
  order: string[]
  parked: Map<Offset, number>
}

export const pointerOf = (topic: string, partition: Partition) => `{${topic}:${partition}}:live`

export async function readStoredPartition(redis: Redis, topic: string, partition: Partition): Promise<StoredPartition> {
  const at = `{${topic}:${partition}}:${await redis.get(pointerOf(topic, partition))}`
  const [meta, plants, order, parked] = await Promise.all([
    redis.hgetall(`${at}:meta`),
    redis.hgetallBuffer(`${at}:plants`),
    redis.lrange(`${at}:order`, 0, -1),
    redis.hgetall(`${at}:parked`),
  ])
  return {
    meta,
    plants: new Map(
      Object.entries(plants).map(([text, bytes]) => {
        const id = parsePlantId(text) as PlantId
        return [id, decodeEntry(id, bytes)]
      }),
    ),
    order,
    parked: new Map(Object.entries(parked).map(([offset, reason]) => [Number(offset) as Offset, Number(reason)])),
  }
}

/** The expected content of Redis when the fold of the log is `state` and its checkpoint is `checkpoint`. */
export function asStored(state: PartitionState, checkpoint: Checkpoint, partitions: number): StoredPartition {
  const counts = { plants: state.plants.size, voids: state.voids, parked: state.parked.size }
  return {
    meta: {
      checkpoint: String(checkpoint.offset),
      event: checkpoint.eventId,
      fold: '1',
      partitions: String(partitions),
      // A counter does not exist before its first increment.
      ...Object.fromEntries(
        Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [[name, String(count)]])),
      ),
    },
    plants: state.plants,
    order: [...state.plants.keys()].map(String),
    parked: state.parked,
  }
}

/** Every key of a topic in Redis with its whole content, to see that nothing changed. */
export async function dumpKeys(redis: Redis, topic: string): Promise<Map<string, string>> {
  const keys = (await redis.keys(`{${topic}:*`)).sort()
  const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)))
  return new Map(keys.map((key, index) => [key, String(dumps[index]?.toString('hex'))]))
}
