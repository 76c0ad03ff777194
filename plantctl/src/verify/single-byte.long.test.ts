import type { Offset } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { type LogBatch, logs } from '../../../tests/support/generated-logs.ts'
import { GENERATION, P } from '../../../tests/support/small-log.ts'
import { openVerifiedLog, timeOf } from '../../../tests/support/verified-log.ts'

/** Work in one slice, and in several. */
const limits = fc.constantFrom(500_000, 2)

/** Bytes that a key of Redis holds, and how others get to their place. */
type StoredBytes = { bytes: Buffer; put(bytes: Buffer): Promise<unknown> }

/** Which byte is changed, where and how: generated numbers, taken modulo the number of choices. */
type ByteChange = { place: number; at: number; difference: number }

const byteChanges: fc.Arbitrary<ByteChange> = fc.record({
  place: fc.nat(),
  at: fc.nat(),
  difference: fc.integer({ min: 1, max: 255 }),
})

/** Offsets 0 to 9 without a record, and a change of place 4, the checkpoint, from 9 to 8. */
const EARLIER_CHECKPOINT: [LogBatch[], number, ByteChange] = [
  [{ records: [], next: checkpointAt(9 as Offset, []) }],
  500_000,
  { place: 4, at: 0, difference: 1 },
]

/** True if the log has no record after this checkpoint: the fold up to there is the fold of the whole log. */
function isSameFold(batches: readonly LogBatch[], checkpoint: string | null): boolean {
  const offset = Number(checkpoint)
  const last = batches.flatMap(({ records }) => records).at(-1)?.offset ?? -1
  const end = batches.at(-1)?.next.offset ?? -1
  return String(offset) === checkpoint && last < offset && offset < end
}

it('finds any changed byte in any key, but for a checkpoint that is as true', async () => {
  const log = await openVerifiedLog()
  // Leftovers are checked again after a delay, which is pointless here.
  const time = timeOf(async () => {})
  await fc.assert(
    fc.asyncProperty(
      logs.filter((batches) => batches.length > 0),
      limits,
      byteChanges,
      async (batches, recordsAtOnceMax, change) => {
        await log.empty()
        for (const batch of batches) {
          log.write(P, batch)
          await log.apply(P, batch, GENERATION)
        }
        const keys = (await log.redis.keys(`{${log.topic}:*`)).sort()
        const changed = await changeOneByte(log.redis, keys, change)
        const { findings } = await log.verify({ recordsAtOnceMax, time })
        const checkpoint = await log.redis.hget(`${log.at(P)}${GENERATION}:meta`, 'checkpoint')
        if (isSameFold(batches, checkpoint)) expect(findings.listed).toEqual([])
        else expect(findings.listed).not.toEqual([])
        // A renamed key may no longer have the prefix of this topic, and its name may be no valid text.
        await log.redis.del(changed)
      },
    ),
    { numRuns: 300, examples: [EARLIER_CHECKPOINT] },
  )
})

/** Changes one byte of what these keys hold, or of their names. Returns the bytes that are now in its place. */
async function changeOneByte(redis: Redis, keys: readonly string[], change: ByteChange): Promise<Buffer> {
  const all = await Promise.all(keys.map((key) => placesOf(redis, key)))
  const places = all.flat().filter(({ bytes }) => bytes.length > 0)
  const { bytes, put } = places[change.place % places.length] as StoredBytes
  const changed = Buffer.from(bytes)
  const at = change.at % changed.length
  changed[at] = (changed[at] as number) ^ change.difference
  await put(changed)
  return changed
}

/** The commands that read and write a whole key of each type. ioredis turns what `hgetall` returns into an object. */
const CALLS = { string: ['GET', 'SET'], list: ['LRANGE', 'RPUSH'], hash: ['HGETALL', 'HSET'] } as const

/** All places of a key, its own name included. */
async function placesOf(redis: Redis, key: string): Promise<StoredBytes[]> {
  const [read, write] = CALLS[(await redis.type(key)) as keyof typeof CALLS]
  const parts = [await redis.callBuffer(read, key, ...(read === 'LRANGE' ? [0, -1] : []))].flat() as Buffer[]
  const put = (at: number) => async (changed: Buffer) => {
    await redis.del(key)
    await redis.call(write, key, ...parts.with(at, changed))
  }
  return [
    { bytes: Buffer.from(key), put: (changed) => redis.rename(key, changed) },
    ...parts.map((bytes, at) => ({ bytes, put: put(at) })),
  ]
}
