import fc from 'fast-check'
import type { Redis } from 'ioredis'

/** Bytes that a key of Redis holds, and how others get to their place. */
type StoredBytes = { bytes: Buffer; put(bytes: Buffer): Promise<unknown> }

/** Which byte is changed, where and how: generated numbers, taken modulo the number of choices. */
export type ByteChange = { place: number; at: number; difference: number }

export const byteChanges: fc.Arbitrary<ByteChange> = fc.record({
  place: fc.nat(),
  at: fc.nat(),
  difference: fc.integer({ min: 1, max: 255 }),
})

/** Changes one byte of what these keys hold, or of their names. Returns the bytes that are now in its place. */
export async function changeOneByte(redis: Redis, keys: readonly string[], change: ByteChange): Promise<Buffer> {
  const all = await Promise.all(keys.map((key) => placesOf(redis, key)))
  const places = all.flat().filter(({ bytes }) => bytes.length > 0)
  const { bytes, put } = places[change.place % places.length] as StoredBytes
  const changed = Buffer.from(bytes)
  const at = change.at % changed.length
  changed[at] = (changed[at] as number) ^ change.difference
  await put(changed)
  return changed
}

/** All places of a key, its own name included. */
async function placesOf(redis: Redis, key: string): Promise<StoredBytes[]> {
  const name = { bytes: Buffer.from(key), put: (changed: Buffer) => redis.rename(key, changed) }
  const type = await redis.type(key)
  if (type === 'string') {
    const bytes = (await redis.getBuffer(key)) as Buffer
    return [name, { bytes, put: (changed) => redis.set(key, changed) }]
  }
  if (type === 'list') {
    const elements = await redis.lrangeBuffer(key, 0, -1)
    const put = (at: number) => (changed: Buffer) => redis.lset(key, at, changed)
    return [name, ...elements.map((bytes, at) => ({ bytes, put: put(at) }))]
  }
  const flat = (await redis.callBuffer('HGETALL', key)) as Buffer[]
  const places: StoredBytes[] = [name]
  for (let n = 0; n < flat.length; n += 2) {
    const [field, value] = [flat[n], flat[n + 1]] as [Buffer, Buffer]
    places.push({ bytes: value, put: (changed) => redis.hset(key, field, changed) })
    places.push({
      bytes: field,
      put: (changed) => redis.multi().hdel(key, field).hset(key, changed, value).exec(),
    })
  }
  return places
}
