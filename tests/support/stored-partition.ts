import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import type { Redis } from 'ioredis'

export const pointerOf = (topic: string, partition: Partition) => `{${topic}:${partition}}:live`

/** All that Redis holds of a partition's live generation, key by key and not by way of the product's scripts. */
export async function readStoredPartition(redis: Redis, topic: string, partition: Partition) {
  const at = `{${topic}:${partition}}:${await redis.get(pointerOf(topic, partition))}`
  const [meta, plants, order, parked] = await Promise.all([
    redis.hgetall(`${at}:meta`),
    redis.hgetallBuffer(`${at}:plants`),
    redis.lrange(`${at}:order`, 0, -1),
    redis.hgetall(`${at}:parked`),
  ])
  return { meta, plants, order, parked }
}

/** The expected content of Redis when the fold of the log is `state` and its checkpoint is `checkpoint`. */
export function asStored(state: PartitionState, checkpoint: Checkpoint, partitions: number) {
  const { plants, parked, voids } = state
  const counts = Object.entries({ plants: plants.size, voids, parked: parked.size })
  const meta = {
    checkpoint: String(checkpoint.offset),
    event: checkpoint.eventId,
    fold: '1',
    partitions: String(partitions),
    // A counter does not exist before its first increment.
    ...Object.fromEntries(counts.flatMap(([name, count]) => (count === 0 ? [] : [[name, String(count)]]))),
  }
  return { meta, ...storedContentOf({ plants, order: [...plants.keys()], parked }) }
}

type Content = { plants: Map<PlantId, Claim>; order: PlantId[]; parked: Map<Offset, number> }

/** The content of the keys of a generation, without its meta. */
export const storedContentOf = ({ plants, order, parked }: Content) => ({
  plants: Object.fromEntries([...plants].map(([id, claim]) => [String(id), encodeEntry(claim)])),
  order: order.map(String),
  parked: Object.fromEntries([...parked].map(([offset, reason]) => [offset, String(reason)])),
})

/** Every key of a topic in Redis with its whole content, to see that nothing changed. */
export async function dumpKeys(redis: Redis, topic: string): Promise<Map<string, string>> {
  const keys = (await redis.keys(`{${topic}:*`)).sort()
  const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)))
  return new Map(keys.map((key, index) => [key, String(dumps[index]?.toString('hex'))]))
}
