import { decodeEntry } from '@plant-store/shared/plant/entry.ts'
import { type PlantId, parsePlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Redis } from 'ioredis'
import { pointerOf } from '../support/stored-partition.ts'
import { type PartitionKeys, textsOf } from './redis-scripts.ts'

/** Direct access to the keys of one partition in a real Redis, to damage and read them. */
export function openRealPartition(redis: Redis, topic: string, partition: Partition) {
  const pointer = pointerOf(topic, partition)
  const prefix = pointer.slice(0, -'live'.length)
  const keys = () => redis.keys(`${prefix}*`)
  const remove = async (names: string[]) => {
    if (names.length > 0) await redis.del(names)
  }

  return {
    losePointer: () => remove([pointer]),
    loseGeneration: (generation: string) =>
      remove(['meta', 'plants', 'order', 'parked'].map((key) => `${prefix}${generation}:${key}`)),
    loseEverything: async () => remove(await keys()),
    loseKey: (generation: string, key: string) => remove([`${prefix}${generation}:${key}`]),
    point: (generation: string) => redis.set(pointer, generation),
    setFold: (generation: string, version: number) => redis.hset(`${prefix}${generation}:meta`, 'fold', version),

    /** Returns a function that restores all keys to their present values. */
    async takeSnapshot(): Promise<() => Promise<void>> {
      const names = await keys()
      const dumps = await Promise.all(names.map((name) => redis.dumpBuffer(name)))
      return async () => {
        await remove(await keys())
        await Promise.all(names.map((name, index) => redis.restore(name, 0, dumps[index] as Buffer)))
      }
    },

    /** Every key, without the prefix, and its value. */
    async stored(): Promise<Record<string, unknown>> {
      const read = async (key: string) => [key.slice(prefix.length), await contentOf(redis, key)] as const
      return Object.fromEntries(await Promise.all((await keys()).map(read)))
    },
  }
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  if (key.endsWith(':live') || key.endsWith(':filling')) return redis.get(key)
  if (key.endsWith(':meta')) return redis.hgetall(key)
  if (key.endsWith(':order')) return redis.lrange(key, 0, -1)
  if (key.endsWith(':parked')) return redis.hgetall(key)
  const entries = Object.entries(await redis.hgetallBuffer(key))
  return Object.fromEntries(entries.map(([id, bytes]) => [id, decodeEntry(parsePlantId(id) as PlantId, bytes)]))
}

/**
 * The content of a Redis with these keys. Redis has no empty keys, and a count has no field before its first increment.
 */
export function asStored({ live, filling, generations }: PartitionKeys): Record<string, unknown> {
  const stored: Record<string, unknown> = { ...(live && { live }), ...(filling && { filling }) }
  for (const [name, generation] of generations) {
    const { plants, order, parked } = generation
    const { event, ...texts } = textsOf(generation)
    const fields = Object.entries(texts).filter(([, text]) => text !== '')
    stored[`${name}:meta`] = { event, ...Object.fromEntries(fields) }
    if (plants.size > 0) stored[`${name}:plants`] = Object.fromEntries(plants)
    if (order.length > 0) stored[`${name}:order`] = order.map(String)
    if (parked.size > 0)
      stored[`${name}:parked`] = Object.fromEntries([...parked].map(([offset, reason]) => [offset, String(reason)]))
  }
  return stored
}
