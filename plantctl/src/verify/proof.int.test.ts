import { PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { offsetOf } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { describe, expect, inject, it } from 'vitest'
import { type LogBatch, logs } from '../../../tests/support/generated-logs.ts'
import { claimAt, GENERATION, LOG, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { byteChanges, changeOneByte } from '../../../tests/support/stored-bytes.ts'
import { openVerifiedLog } from '../../../tests/support/verified-log.ts'
import type { Difference } from './difference.ts'
import { createFoldedPlants } from './folded-plants.ts'
import { createGenerationVerifier } from './generation-verifier.ts'
import { isProved, type ProofReader } from './proof.ts'

type Generations = Awaited<ReturnType<typeof openCorruptible>>['readModel']['generations']

const WHOLE = { index: 0, count: 1 }
const spanSizes = fc.constantFrom(1, 2, 512)

/** Folds a log, and holds the generation to it: by the proof alone, and as a rebuild does. */
async function judge(generations: Generations, log: readonly LogBatch[], plantsPerSpan = 512) {
  const state = emptyPartitionOf(createFoldedPlants({ plantsPerSpan }))
  for (const { records, next } of log) Object.assign(fold(state, records), { checkpoint: next })
  const counts = { plants: state.plants.size, voids: state.voids, parked: state.parked.size }
  const found = await generations.state(P, GENERATION)
  const upTo = state.checkpoint.offset
  const compared = { partition: P, generation: GENERATION, fold: state, upTo, counts, found, onRead() {} }
  return {
    proves: (reader: ProofReader = generations) => isProved(reader, compared),

    differences(): Promise<Difference[]> {
      const foldSlice = async () => state
      const verify = createGenerationVerifier({ reader: generations, partitions: 2, foldSlice })
      const cut = { checkpoint: state.checkpoint, slice: WHOLE, counts, found }
      return verify(P, GENERATION, state, cut, { onRead() {}, signal: new AbortController().signal })
    },
  }
}

it('the fold of any log is proved, also when the generation has gone on since', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  await fc.assert(
    fc.asyncProperty(logs, spanSizes, fc.nat(), async (batches, plantsPerSpan, choice) => {
      await log.empty()
      const upTo = choice % (batches.length + 1)
      for (const batch of batches.slice(0, upTo)) await log.apply(P, batch, GENERATION)
      const judged = await judge(log.readModel.generations, batches.slice(0, upTo), plantsPerSpan)
      for (const batch of batches.slice(upTo)) await log.apply(P, batch, GENERATION)
      if (upTo > 0) expect(await judged.differences()).toEqual([])
      // One that was empty may have got its first plant in the place that is read of it.
      if (upTo > 0 && batches.slice(0, upTo).some(({ records }) => records.some(({ claim }) => claim)))
        expect(await judged.proves()).toBe(true)
    }),
    { numRuns: 100 },
  )
})

it('any byte that is changed in what a generation holds is found', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  await fc.assert(
    fc.asyncProperty(
      logs.filter((batches) => batches.some(({ records }) => records.length > 0)),
      spanSizes,
      byteChanges,
      async (batches, plantsPerSpan, change) => {
        await log.empty()
        for (const batch of batches) await log.apply(P, batch, GENERATION)
        const keys = ['plants', 'order', 'parked'].map((kind) => `${log.at(P)}${GENERATION}:${kind}`)
        const there = (
          await Promise.all(keys.map(async (key) => ((await log.redis.exists(key)) ? [key] : [])))
        ).flat()
        const changed = await changeOneByte(log.redis, there, change)
        const judged = await judge(log.readModel.generations, batches, plantsPerSpan)
        expect(await judged.proves()).toBe(false)
        expect(await judged.differences()).not.toEqual([])
        await log.redis.del(changed)
      },
    ),
    { numRuns: 200 },
  )
})

const ENTRY_OF = async (redis: Redis, at: string, id: string) =>
  (await redis.hgetBuffer(`${at}${GENERATION}:plants`, id)) as Buffer

/** What leaves the bytes that are read, taken all together, or the number of what is held, as they were. */
const PLANTED: [what: string, plant: (redis: Redis, at: string) => Promise<unknown>][] = [
  [
    'the last byte of an entry that is at the beginning of the next one',
    async (redis, at) => {
      const [one, next] = [await ENTRY_OF(redis, at, '1'), await ENTRY_OF(redis, at, '2')]
      const moved = Buffer.concat([one.subarray(-1), next])
      return redis.hset(`${at}${GENERATION}:plants`, '1', one.subarray(0, -1), '2', moved)
    },
  ],
  [
    'the entries of two plants that are exchanged',
    async (redis, at) => {
      const [one, other] = [await ENTRY_OF(redis, at, '2'), await ENTRY_OF(redis, at, '4')]
      return redis.hset(`${at}${GENERATION}:plants`, '2', other, '4', one)
    },
  ],
  [
    'two ids that are one place in the order, and a place with nothing',
    async (redis, at) => {
      const key = `${at}${GENERATION}:order`
      await redis.lset(key, 0, '1,2')
      return redis.lset(key, 1, '')
    },
  ],
  [
    'two plants that are exchanged in the order',
    async (redis, at) => {
      const key = `${at}${GENERATION}:order`
      await redis.lset(key, 0, '2')
      return redis.lset(key, 1, '1')
    },
  ],
  [
    'a plant that is in the order in the place of another',
    (redis, at) => redis.lset(`${at}${GENERATION}:order`, 1, '1'),
  ],
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
  [
    'an entry that nothing in the order names',
    async (redis, at) => redis.hset(`${at}${GENERATION}:plants`, '77', await ENTRY_OF(redis, at, '2')),
  ],
  ['an entry of 64 KiB', (redis, at) => redis.hset(`${at}${GENERATION}:plants`, '2', Buffer.alloc(65_536))],
  [
    'an entry of 64 KiB less one',
    (redis, at) => redis.hset(`${at}${GENERATION}:plants`, '2', Buffer.alloc(65_535)),
  ],
  ['an empty entry', (redis, at) => redis.hset(`${at}${GENERATION}:plants`, '2', '')],
  ['one that is in the order twice', (redis, at) => redis.rpush(`${at}${GENERATION}:order`, '2')],
  ['something parked too much', (redis, at) => redis.hset(`${at}${GENERATION}:parked`, '1', '1')],
  [
    'what is no offset parked in the place of one',
    async (redis, at) => {
      await redis.hdel(`${at}${GENERATION}:parked`, '3')
      return redis.hset(`${at}${GENERATION}:parked`, 'NaN', 'undefined')
    },
  ],
  [
    'an offset from beyond parked in the place of one',
    async (redis, at) => {
      await redis.hdel(`${at}${GENERATION}:parked`, '3')
      return redis.hset(`${at}${GENERATION}:parked`, '1000', PARKED.otherType)
    },
  ],
  [
    'an offset parked in another writing',
    async (redis, at) => {
      await redis.hdel(`${at}${GENERATION}:parked`, '3')
      return redis.hset(`${at}${GENERATION}:parked`, '3.0', PARKED.otherType)
    },
  ],
]

describe('what could be missed by a look at bytes and numbers is found', () => {
  it.each(PLANTED)('%s', async (_what, plant) => {
    const { readModel, redis, at } = await openCorruptible()
    const before = await judge(readModel.generations, [LOG], 2)
    expect(await before.proves()).toBe(true)
    await plant(redis, at)
    const judged = await judge(readModel.generations, [LOG], 2)
    expect(await judged.proves()).toBe(false)
    expect(await judged.differences()).not.toEqual([])
  })

  it('an entry that comes from elsewhere while spans are read', async () => {
    const { readModel, redis, at } = await openCorruptible()
    const { generations } = readModel
    const judged = await judge(generations, [LOG])
    const span: ProofReader['span'] = async (...asked) => {
      const answer = await generations.span(...asked)
      await redis.hset(`${at}${GENERATION}:plants`, '77', 'anything')
      return answer
    }
    expect(await judged.proves({ ...generations, span })).toBe(false)
  })

  it('a generation that is gone', async () => {
    const { readModel } = await openCorruptible()
    const judged = await judge(readModel.generations, [LOG])
    const gone: ProofReader = {
      ...readModel.generations,
      span: (p, _name, ...rest) => readModel.generations.span(p, 'gone', ...rest),
    }
    expect(await judged.proves(gone)).toBe(false)
  })

  it('a plant that the log has, and the generation has not', async () => {
    const { readModel } = await openCorruptible()
    const records = [...RECORDS.slice(0, -1), claimAt(6, 99n)]
    const judged = await judge(readModel.generations, [{ records, next: LOG.next }])
    expect(await judged.proves()).toBe(false)
    expect(await judged.differences()).not.toEqual([])
  })
})

describe('of more plants than one span has', () => {
  const PLANTS = 1_025
  /** Some with texts as long as they may be, so that the place for a span grows, and its answer has some 100 KiB. */
  const LONGEST = { name: '🌱'.repeat(1_000), tag: '🌱'.repeat(1_000) }
  const records = Array.from({ length: PLANTS }, (_, at) =>
    claimAt(at, at % 2 === 0 ? 2n ** 63n - 1n - BigInt(at) : BigInt(at) - 2n ** 63n, {
      plant: at % 40 === 31 ? LONGEST : at % 7 === 0 ? undefined : { name: `plant ${at}` },
    }),
  )
  const log = { records, next: checkpointAt(offsetOf(PLANTS - 1), records) }

  it('each is read, on both sides of where spans are cut', async () => {
    const { apply, at, readModel, redis } = await openVerifiedLog(inject('redisUrl'), 2)
    await apply(P, log, GENERATION)
    const proves = async () => (await judge(readModel.generations, [log])).proves()
    const [plants, order] = [`${at(P)}${GENERATION}:plants`, `${at(P)}${GENERATION}:order`]
    expect(await proves()).toBe(true)
    for (const place of [0, 511, 512, 1_023, 1_024]) {
      const id = String(records[place]?.claim?.id)
      const entry = (await redis.hgetBuffer(plants, id)) as Buffer
      const changed = Buffer.from(entry)
      changed[changed.length - 1] = (changed.at(-1) as number) ^ 1
      await redis.hset(plants, id, changed)
      expect(await proves()).toBe(false)
      await redis.hset(plants, id, entry)
      await redis.lset(order, place, '5')
      expect(await proves()).toBe(false)
      await redis.lset(order, place, id)
    }
    expect(await proves()).toBe(true)
  })
})

it('once a span can not be read no more are asked for, and none is under way', async () => {
  const { readModel } = await openCorruptible()
  const judged = await judge(readModel.generations, [LOG], 1)
  let asked = 0
  let underWay = 0
  const span: ProofReader['span'] = async (...what) => {
    underWay++
    try {
      if (++asked === 1) throw new Error('Redis is away')
      return await readModel.generations.span(...what)
    } finally {
      underWay--
    }
  }
  await expect(judged.proves({ ...readModel.generations, span })).rejects.toThrow('Redis is away')
  expect({ asked, underWay }).toEqual({ asked: 3, underWay: 0 })
})
