import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Redis } from 'ioredis'
import { pointerOf, storedContentOf } from '../support/stored-partition.ts'
import { type PartitionKeys, textsOf } from './redis-scripts.ts'

/** The keys of one partition in a real Redis, by name without their prefix, without the product's scripts. */
export function openRealPartition(redis: Redis, topic: string, partition: Partition) {
  const prefix = pointerOf(topic, partition).slice(0, -'live'.length)
  const keys = () => redis.keys(`${prefix}*`)

  async function readKey(key: string): Promise<unknown> {
    if (key.endsWith(':live') || key.endsWith(':filling')) return redis.get(key)
    if (key.endsWith(':order')) return redis.lrange(key, 0, -1)
    return key.endsWith(':plants') ? redis.hgetallBuffer(key) : redis.hgetall(key)
  }

  return {
    async read(): Promise<Record<string, unknown>> {
      const read = async (key: string) => [key.slice(prefix.length), await readKey(key)] as const
      return Object.fromEntries(await Promise.all((await keys()).map(read)))
    },

    /** Replaces all keys. */
    async write(stored: ReturnType<typeof asStored>): Promise<void> {
      const transaction = redis.multi().del(`${prefix}live`, ...(await keys()))
      for (const [name, value] of Object.entries(stored)) {
        if (typeof value === 'string') transaction.set(prefix + name, value)
        else if (Array.isArray(value)) transaction.rpush(prefix + name, ...value)
        else transaction.hset(prefix + name, value)
      }
      await transaction.exec()
    },
  }
}

/** The content of a Redis with these keys. Redis has no empty keys. */
export function asStored({ live, filling, generations }: PartitionKeys) {
  const stored: Record<string, string | string[] | Record<string, string | Buffer>> = {}
  if (live) stored.live = live
  if (filling) stored.filling = filling
  for (const [name, generation] of generations) {
    const fields = Object.entries(textsOf(generation)).filter(([field, text]) => field === 'event' || text !== '')
    stored[`${name}:meta`] = Object.fromEntries(fields)
    for (const [key, value] of Object.entries(storedContentOf(generation)))
      if (Object.keys(value).length > 0) stored[`${name}:${key}`] = value
  }
  return stored
}
