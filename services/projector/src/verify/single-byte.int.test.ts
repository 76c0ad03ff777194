import type { Partition } from '@plant-store/shared/plant/offset.ts'
import type { Time } from '@plant-store/shared/process/time.ts'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { expect, inject, it } from 'vitest'
import { logs } from '../../../../tests/support/generated-logs.ts'
import { openVerifiedLog } from '../../../../tests/support/verified-log.ts'

const P = 0 as Partition
const GENERATION = 'live-one'

/** A place where a key of Redis holds bytes, and how others get there. */
type Place = { what: string; bytes: Buffer; put(bytes: Buffer): Promise<unknown> }

async function placesOf(redis: Redis, key: string): Promise<Place[]> {
  const name: Place = { what: `the name of ${key}`, bytes: Buffer.from(key), put: rename(redis, key) }
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
  const places: Place[] = [name]
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

/** Cuts of the work in one slice and in several. */
const cuts = fc.constantFrom(500_000, 2)

it('the fold of any log is found to be it', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  await fc.assert(
    fc.asyncProperty(logs, cuts, async (batches, recordsAtOnceMax) => {
      await log.empty()
      for (const batch of batches) {
        log.write(P, batch)
        await log.apply(P, batch, GENERATION)
        expect((await log.verify({ recordsAtOnceMax })).findings).toEqual({ kept: [], more: 0 })
      }
    }),
    { numRuns: 60 },
  )
})

it('any byte that is changed in any key is found', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  // What is left over is looked for again after a while; here nothing else goes on.
  const atOnce: Time = {
    now: () => 0,
    after(_ms, callback) {
      const immediate = setImmediate(callback)
      return () => clearImmediate(immediate)
    },
  }
  await fc.assert(
    fc.asyncProperty(
      logs.filter((batches) => batches.length > 0),
      cuts,
      fc.nat(),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (batches, recordsAtOnceMax, choice, position, difference) => {
        await log.empty()
        for (const batch of batches) {
          log.write(P, batch)
          await log.apply(P, batch, GENERATION)
        }
        const keys = (await log.redis.keys(`{${log.topic}:*`)).sort()
        const all = await Promise.all(keys.map((key) => placesOf(log.redis, key)))
        const places = all.flat().filter(({ bytes }) => bytes.length > 0)
        const { bytes, put } = places[choice % places.length] as Place
        const changed = Buffer.from(bytes)
        const at = position % changed.length
        changed[at] = (changed[at] as number) ^ difference
        await put(changed)
        const { findings } = await log.verify({ recordsAtOnceMax, time: atOnce })
        expect(findings.kept).not.toEqual([])
        // A key that was renamed may not be one of this topic any more, and its name no text.
        await log.redis.del(changed)
      },
    ),
    { numRuns: 300 },
  )
})
