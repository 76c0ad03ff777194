import { PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { offsetOf } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { describe, expect, inject, it } from 'vitest'
import { type LogBatch, logs } from '../../../tests/support/generated-logs.ts'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { claimAt, GENERATION, LOG, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { openVerifiedLog } from '../../../tests/support/verified-log.ts'
import type { GenerationReader } from './compare.ts'
import type { Difference } from './difference.ts'
import { countsOf, verifyGeneration } from './generation-comparison.ts'

type Generations = Awaited<ReturnType<typeof openCorruptible>>['readModel']['generations']

const WHOLE = { index: 0, count: 1 }
const spanSizes = fc.constantFrom(1, 2, 512)

/** Folds a log and compares the generation with it, as a rebuild does. */
async function compare(generations: Generations, log: readonly LogBatch[], plantsPerSpan = 512) {
  const folded = emptyPartitionOf(createPackedClaims({ plantsPerSpan }))
  for (const { records, next } of log) Object.assign(fold(folded, records), { checkpoint: next })
  const { checkpoint } = folded
  const state = await generations.state(P, GENERATION)
  const snapshot = { partition: P, checkpoint, slice: WHOLE, fold: folded, counts: countsOf(folded), state }
  const read = () => Promise.reject(new Error('the log is read without a need'))
  return (changes: Partial<GenerationReader> = {}): Promise<Difference[]> =>
    verifyGeneration({ ...generations, ...changes }, snapshot, { partitions: 2, read, onRead() {} })
}

/** Equal bytes and sizes prove a generation: no plant is decoded, and its entries are not scanned. */
const BY_BYTES: Partial<GenerationReader> = {
  order: () => Promise.reject(new Error('read without a need')),
  plants: () => {
    throw new Error('scanned without a need')
  },
}

it('the fold of any log matches, also when the generation has grown since', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  await fc.assert(
    fc.asyncProperty(logs, spanSizes, fc.nat(), async (batches, plantsPerSpan, choice) => {
      await log.empty()
      const upTo = choice % (batches.length + 1)
      for (const batch of batches.slice(0, upTo)) await log.apply(P, batch, GENERATION)
      const differences = await compare(log.readModel.generations, batches.slice(0, upTo), plantsPerSpan)
      for (const batch of batches.slice(upTo)) await log.apply(P, batch, GENERATION)
      if (upTo > 0) expect(await differences(BY_BYTES)).toEqual([])
    }),
    { numRuns: 100 },
  )
})

const ENTRY_OF = async (redis: Redis, at: string, id: string) =>
  (await redis.hgetBuffer(`${at}${GENERATION}:plants`, id)) as Buffer

type Corruption = [what: string, corrupt: (redis: Redis, at: string) => Promise<unknown>]

/** Changes that keep the concatenated bytes, or the sizes of the keys, as they were. verifier.int has others. */
const CORRUPTIONS: Corruption[] = [
  [
    'the last byte of an entry moved to the start of the next one',
    async (redis, at) => {
      const [one, next] = [await ENTRY_OF(redis, at, '1'), await ENTRY_OF(redis, at, '2')]
      const moved = Buffer.concat([one.subarray(-1), next])
      return redis.hset(`${at}${GENERATION}:plants`, '1', one.subarray(0, -1), '2', moved)
    },
  ],
  [
    'the swapped entries of two plants',
    async (redis, at) => {
      const [one, other] = [await ENTRY_OF(redis, at, '2'), await ENTRY_OF(redis, at, '4')]
      return redis.hset(`${at}${GENERATION}:plants`, '2', other, '4', one)
    },
  ],
  [
    'two ids in one element of the order, and an empty element',
    async (redis, at) => {
      const key = `${at}${GENERATION}:order`
      await redis.lset(key, 0, '1,2')
      return redis.lset(key, 1, '')
    },
  ],
  ['a plant in the order in place of another', (redis, at) => redis.lset(`${at}${GENERATION}:order`, 1, '1')],
  [
    'a plant under another id, in the order and among the entries',
    async (redis, at) => {
      const entry = await ENTRY_OF(redis, at, '2')
      await redis.hdel(`${at}${GENERATION}:plants`, '2')
      await redis.hset(`${at}${GENERATION}:plants`, '77', entry)
      return redis.lset(`${at}${GENERATION}:order`, 1, '77')
    },
  ],
  [
    'an entry of another id in the place of one that is missing',
    async (redis, at) => {
      const entry = await ENTRY_OF(redis, at, '2')
      await redis.hdel(`${at}${GENERATION}:plants`, '2')
      return redis.hset(`${at}${GENERATION}:plants`, '77', entry)
    },
  ],
  ['an entry of 64 KiB', (redis, at) => redis.hset(`${at}${GENERATION}:plants`, '2', Buffer.alloc(65_536))],
  ['an entry of 64 KiB less one', (redis, at) => redis.hset(`${at}${GENERATION}:plants`, '2', Buffer.alloc(65_535))],
  ['an empty entry', (redis, at) => redis.hset(`${at}${GENERATION}:plants`, '2', '')],
  ...(
    [
      ['an invalid parked offset', 'NaN', 'undefined'],
      ['a parked offset after the checkpoint', '1000', PARKED.otherType],
      ['a parked offset in another notation', '3.0', PARKED.otherType],
    ] as const
  ).map(
    ([what, offset, reason]): Corruption => [
      `${what} in place of a valid one`,
      async (redis, at) => {
        await redis.hdel(`${at}${GENERATION}:parked`, '3')
        return redis.hset(`${at}${GENERATION}:parked`, offset, reason)
      },
    ],
  ),
]

describe('the comparison finds what bytes and sizes alone could miss', () => {
  it.each(CORRUPTIONS)('%s', async (_what, corrupt) => {
    const { readModel, redis, at } = await openCorruptible()
    const before = await compare(readModel.generations, [LOG], 2)
    expect(await before(BY_BYTES)).toEqual([])
    await corrupt(redis, at)
    const differences = await compare(readModel.generations, [LOG], 2)
    expect(await differences()).not.toEqual([])
  })

  it('an entry that another program adds while spans are read', async () => {
    const { readModel, redis, at } = await openCorruptible()
    const { generations } = readModel
    const differences = await compare(generations, [LOG])
    const span: GenerationReader['span'] = async (...args) => {
      const packed = await generations.span(...args)
      await redis.hset(`${at}${GENERATION}:plants`, '77', 'anything')
      return packed
    }
    expect(await differences({ span })).toContainEqual(expect.objectContaining({ what: 'entryExtra', id: '77' }))
  })

  it('a generation that is dropped', async () => {
    const { readModel, redis, at } = await openCorruptible()
    const differences = await compare(readModel.generations, [LOG])
    await redis.del(await redis.keys(`${at}*`))
    expect(await differences()).not.toEqual([])
  })

  it('a plant that the log has and the generation does not', async () => {
    const { readModel } = await openCorruptible()
    const records = [...RECORDS.slice(0, -1), claimAt(6, 99n)]
    const differences = await compare(readModel.generations, [{ records, next: LOG.next }])
    expect(await differences()).not.toEqual([])
  })
})

describe('more plants than one span has', () => {
  const PLANTS = 1_025
  /** Some have texts of the maximal length, so that the buffer of a span grows, and a response has some 100 KiB. */
  const LONGEST = plantWith({ name: '🌱'.repeat(1_000), tag: '🌱'.repeat(1_000) })
  const records = Array.from({ length: PLANTS }, (_, at) =>
    claimAt(at, at % 2 === 0 ? 2n ** 63n - 1n - BigInt(at) : BigInt(at) - 2n ** 63n, {
      plant: at % 40 === 31 ? LONGEST : at % 7 === 0 ? undefined : plantWith({ name: `plant ${at}` }),
    }),
  )
  const log = { records, next: checkpointAt(offsetOf(PLANTS - 1), records) }

  it('are all read, on both sides of the border between spans', async () => {
    const { apply, at, readModel, redis } = await openVerifiedLog(inject('redisUrl'), 2)
    await apply(P, log, GENERATION)
    const differences = async (reader = {}) => (await compare(readModel.generations, [log]))(reader)
    const [plants, ids] = [`${at(P)}${GENERATION}:plants`, `${at(P)}${GENERATION}:order`]
    expect(await differences(BY_BYTES)).toEqual([])
    for (const place of [0, 511, 512, 1_023, 1_024]) {
      const id = String(records[place]?.claim?.id)
      const entry = (await redis.hgetBuffer(plants, id)) as Buffer
      const changed = Buffer.from(entry)
      changed[changed.length - 1] = (changed.at(-1) as number) ^ 1
      await redis.hset(plants, id, changed)
      expect(await differences()).not.toEqual([])
      await redis.hset(plants, id, entry)
      await redis.lset(ids, place, '5')
      expect(await differences()).not.toEqual([])
      await redis.lset(ids, place, id)
    }
    expect(await differences(BY_BYTES)).toEqual([])
  })
})

it('after a failed span no other is requested, and none is in flight', async () => {
  const { readModel } = await openCorruptible()
  const differences = await compare(readModel.generations, [LOG], 1)
  let requested = 0
  let inFlight = 0
  const span: GenerationReader['span'] = async (...args) => {
    inFlight++
    try {
      if (++requested === 1) throw new Error('Redis is away')
      return await readModel.generations.span(...args)
    } finally {
      inFlight--
    }
  }
  await expect(differences({ span })).rejects.toThrow('Redis is away')
  expect({ requested, inFlight }).toEqual({ requested: 3, inFlight: 0 })
})
