import type { Redis } from 'ioredis'

/** A place where a key of Redis holds bytes, and how others get there. */
export type StoredBytes = { what: string; bytes: Buffer; put(bytes: Buffer): Promise<unknown> }

/** All places of a key, its own name included. */
export async function placesOf(redis: Redis, key: string): Promise<StoredBytes[]> {
  const name: StoredBytes = { what: `the name of ${key}`, bytes: Buffer.from(key), put: rename(redis, key) }
  const type = await redis.type(key)
  if (type === 'string') {
    const bytes = (await redis.getBuffer(key)) as Buffer
    return [name, { what: key, bytes, put: (changed) => redis.set(key, changed) }]
  }
  if (type === 'list') {
    const elements = await redis.lrangeBuffer(key, 0, -1)
    return [
      name,
      ...elements.map((bytes, at) => ({
        ...{ what: `${key} at ${at}`, bytes, put: (changed: Buffer) => redis.lset(key, at, changed) },
      })),
    ]
  }
  const flat = (await redis.callBuffer('HGETALL', key)) as Buffer[]
  const places: StoredBytes[] = [name]
  for (let n = 0; n < flat.length; n += 2) {
    const [field, value] = [flat[n], flat[n + 1]] as [Buffer, Buffer]
    places.push({
      what: `${key} ${String(field)}`,
      bytes: value,
      put: (changed) => redis.hset(key, field, changed),
    })
    places.push({
      what: `${key}, the name of ${String(field)}`,
      bytes: field,
      put: (changed) => redis.multi().hdel(key, field).hset(key, changed, value).exec(),
    })
  }
  return places
}

const rename = (redis: Redis, key: string) => (changed: Buffer) => redis.rename(key, changed)
