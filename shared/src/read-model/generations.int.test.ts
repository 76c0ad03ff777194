import { describe, expect, it } from 'vitest'
import { openReadModel } from '../../../tests/support/opened-read-model.ts'
import { startOwnRedis } from '../../../tests/support/own-stores.ts'
import { batchOf } from '../../../tests/support/small-log.ts'
import { dumpKeys } from '../../../tests/support/stored-partition.ts'
import type { PlantId } from '../plant/plant.ts'
import { type LogRecord, PARKED } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../protocol/checkpoint.ts'

const PARTITIONS = 3
const P = 1 as Partition
const SWITCH = { generation: 'new', mark: 'mark', expectedLive: 'old', verified: 0 as Offset }

/** The generations of a separate topic, on a real Redis. */
async function openGenerations(place: { redisUrl?: string } = {}) {
  const { topic, readModel, redis, apply } = await openReadModel({ ...place, partitions: PARTITIONS })
  const { generations } = readModel
  const at = `{${topic}:${P}}:`
  return {
    ...{ topic, readModel, redis, generations, apply, at },

    /** A live generation of this many plants. */
    live: (name: string, plants: number): Promise<Checkpoint> => apply(P, BEFORE_LOG, batch(0, plants), name),

    /** A marked generation of this many plants that is being filled. */
    async filled(name: string, plants: number): Promise<Checkpoint> {
      const { records, next } = batch(0, plants)
      expect(await generations.startFilling(P, name)).toEqual({
        is: 'started',
        generation: name,
        checkpoint: BEFORE_LOG,
      })
      expect(await generations.fill(P, name, BEFORE_LOG, next, records)).toEqual({ is: 'applied' })
      expect(await generations.mark(P, name, 'mark')).toEqual({ is: 'marked' })
      return next
    },

    /** Whatever is done changes no key. */
    async expectUnchanged<T>(doing: () => Promise<T>): Promise<T> {
      const before = await dumpKeys(redis, topic)
      const result = await doing()
      expect(await dumpKeys(redis, topic)).toEqual(before)
      return result
    },
  }
}

/** Records from an offset on, a plant each, whose id is the offset. */
const batch = (first: number, count: number) =>
  batchOf(
    first,
    Array.from({ length: count }, (_, n) => BigInt(first + n)),
  )

// tests/simulation/redis-scripts.long shows the results of the scripts in any order, and after losses of data.
describe('starting to fill', () => {
  it('rejects a name under which there is a key', async () => {
    const { generations, redis, at, expectUnchanged } = await openGenerations()
    for (const kind of ['meta', 'plants', 'parked']) await redis.hset(`${at}of-${kind}:${kind}`, 'a', 'b')
    await redis.rpush(`${at}of-order:order`, 'a')
    for (const kind of ['meta', 'plants', 'order', 'parked']) {
      expect(await expectUnchanged(() => generations.startFilling(P, `of-${kind}`))).toEqual({
        is: 'nameTaken',
      })
    }
  })

  it('leaves what has lost its meta, and begins anew', async () => {
    const { generations, redis, at, filled } = await openGenerations()
    await filled('left', 2)
    await redis.del(`${at}left:meta`)
    expect(await generations.startFilling(P, 'fresh')).toMatchObject({ is: 'started', generation: 'fresh' })
    expect(await generations.drop(P, 'left')).toEqual({ is: 'dropped', keys: 2 })
  })
})

it.each([
  ['a newer release', { fold: '2' }, /fold version 2.*start that release/],
  ['a topic of another size', { partitions: '4' }, /4 partitions.*PLANTS_PARTITIONS is 3/],
])('what %s folded is neither read nor changed nor rebuilt', async (_what, meta, message) => {
  const { readModel, generations, redis, at, live, expectUnchanged } = await openGenerations()
  const checkpoint = await live('old', 2)
  await redis.hset(`${at}old:meta`, meta)
  const [offset, was] = [0 as Offset, PARKED.unknownVersion]
  await redis.hset(`${at}old:parked`, offset, was)
  const { records, next } = batch(2, 1)
  for (const refused of [
    () => readModel.meta(P),
    () => readModel.apply(P, checkpoint, next, records, 'unused'),
    () => generations.reapply(P, [{ was, record: { offset, parked: PARKED.badKey } }]),
    () => generations.startFilling(P, 'new'),
  ]) {
    const precondition = { name: 'PreconditionError', message: expect.stringMatching(message) }
    await expectUnchanged(() => expect(refused()).rejects.toMatchObject(precondition))
  }
})

it.each(['x', ''])(
  'a fold version "%s" is not that of a newer release: what is applied next corrects it',
  async (fold) => {
    const { readModel, generations, redis, apply, at, live } = await openGenerations()
    const checkpoint = await live('old', 2)
    await redis.hset(`${at}old:meta`, { fold })
    expect(await readModel.meta(P)).toMatchObject({ checkpoint })
    expect(await generations.reapply(P, [])).toBe(0)
    await apply(P, checkpoint, batch(2, 1))
    expect(await generations.state(P)).toMatchObject({ fold: 1, plants: 3 })
  },
)

it('switching leaves the pointer to what another rebuild fills', async () => {
  const { generations, redis, at, live, filled } = await openGenerations()
  await live('old', 1)
  await filled('new', 1)
  await redis.set(`${at}filling`, 'another')
  expect(await generations.switchTo(P, SWITCH)).toEqual({ is: 'switched' })
  expect(await redis.get(`${at}filling`)).toBe('another')
})

it('listing returns all generations of each partition, also those without a meta, and keys of none', async () => {
  const { generations, redis, at, topic, live, filled } = await openGenerations()
  await live('old', 1)
  await filled('new', 2)
  await redis.rpush(`${at}without:meta:order`, '7')
  const strange = [
    ...[`{${topic}:3}:old:plants`, `{${topic}:x}:live`, `${at}new:names`, `${at}plants`, `${at}:plants`],
  ].sort()
  for (const key of strange) await redis.set(key, '')
  await redis.set(`{${topic}-2:0}:live`, 'of another topic')
  expect(await generations.list()).toEqual({
    partitions: [
      { partition: 0, live: '', filling: '', names: [] },
      { partition: P, live: 'old', filling: 'new', names: ['new', 'old', 'without:meta'] },
      { partition: 2, live: '', filling: '', names: [] },
    ],
    strange,
  })
  expect(await generations.state(P, 'without:meta')).toMatchObject({
    ...{ checkpoint: undefined, live: 'old', sizes: { plants: 0, order: 1, parked: 0 } },
  })
  expect(await generations.drop(P, 'without:meta')).toEqual({ is: 'dropped', keys: 1 })
})

it('reading a generation returns all of it, in bounded batches', async () => {
  const { generations, redis, at } = await openGenerations()
  const { records, next } = batch(0, 2_500)
  await generations.startFilling(P, 'new')
  await generations.fill(P, 'new', BEFORE_LOG, next, [
    ...records.slice(0, -1),
    { ...(records.at(-1) as LogRecord), parked: 5 },
  ])
  await redis.hset(`${at}new:plants`, '7', 'no entry')

  const plants = new Map<string, unknown>()
  for await (const found of generations.plants(P, 'new')) {
    expect(found.length).toBeLessThanOrEqual(1_500)
    for (const { id, claim } of found) plants.set(id, claim)
  }
  expect(plants.get('7')).toBeUndefined()
  expect(plants.get('8')).toEqual(records[8]?.claim)
  expect(plants.size).toBe(2_500)
  const ids = records.map(({ offset }) => String(offset))
  for (const [from, count] of [
    [0, 0],
    [0, 1_000],
    [2_000, 1_000],
  ] as const)
    expect(await generations.order(P, 'new', from, count)).toEqual(ids.slice(from, from + count))
  expect(await Array.fromAsync(generations.parked(P, 'new'))).toEqual([[['2499', '5']]])
  expect(await generations.entries(P, 'new', ['8', '-8', '7'])).toEqual([
    { id: '8', claim: records[8]?.claim },
    { id: '7', claim: undefined },
  ])
  const types = Object.fromEntries(await generations.keyTypes(P, 'new'))
  expect(types).toEqual({ filling: 'string', meta: 'hash', plants: 'hash', order: 'list', parked: 'hash' })
  expect(await Array.fromAsync(generations.plants(P, 'never'))).toEqual([])
})

it('a Redis that is full rejects every write without a partial one, except to drop, until there is room again', async () => {
  const { url } = await startOwnRedis()
  const { readModel, generations, redis, apply, live, filled, expectUnchanged } = await openGenerations({
    redisUrl: url,
  })
  const at = await live('old', 1)
  const next = await filled('new', 1)
  const more = batch(1, 2)
  await redis.config('SET', 'maxmemory', '1')
  for (const refused of [
    () => readModel.apply(P, at, more.next, more.records, 'unused'),
    () => readModel.apply(0 as Partition, BEFORE_LOG, more.next, more.records, 'fresh'),
    () => generations.startFilling(0 as Partition, 'fresh'),
    () => generations.fill(P, 'new', next, more.next, more.records),
    () => generations.mark(P, 'new', 'another'),
    () => generations.switchTo(P, SWITCH),
  ]) {
    await expectUnchanged(() => expect(refused()).rejects.toThrow(/OOM/))
  }
  expect((await readModel.lookUp([{ partition: P, ids: [0n as PlantId] }]))[0]?.checkpoint).toBe(0)
  expect(await generations.state(P, 'new')).toMatchObject({ mark: 'mark', live: 'old', filling: 'new' })
  expect(await generations.startFilling(P, 'fresh')).toMatchObject({ is: 'resumed', generation: 'new' })
  expect(await generations.drop(P, 'new', { abandon: true })).toMatchObject({ is: 'dropped' })
  await redis.config('SET', 'maxmemory', '0')
  await apply(P, at, more)
  expect(await readModel.meta(P)).toMatchObject({ checkpoint: more.next, plants: 3 })
})

describe('data that another program wrote into Redis', () => {
  it.each(['', 'x', '007', '1e3', '-2'])('a checkpoint %j of what is filled is not gone on from', async (text) => {
    const { redis, generations, at, filled } = await openGenerations()
    await filled('odd', 5)
    await redis.hset(`${at}odd:meta`, 'checkpoint', text)
    expect(await generations.startFilling(P, 'next')).toEqual({
      is: 'started',
      generation: 'next',
      checkpoint: BEFORE_LOG,
    })
  })

  it.each([
    ['fold', 'x'],
    ['fold', undefined],
    ['checkpoint', 'x'],
    ['checkpoint', ''],
  ])('a live generation whose %s is %j gives way to one that is verified', async (field, text) => {
    const { redis, generations, at, live, filled } = await openGenerations()
    await live('old', 3)
    if (text === undefined) await redis.hdel(`${at}old:meta`, field)
    else await redis.hset(`${at}old:meta`, field, text)
    await filled('new', 5)
    expect(await generations.switchTo(P, SWITCH)).toEqual({ is: 'switched' })
  })

  it.each(['plants', 'order', 'parked'])('nothing is applied to a key %s of another type', async (kind) => {
    const { redis, readModel, at, live, expectUnchanged } = await openGenerations()
    const checkpoint = await live('old', 3)
    await redis.set(`${at}old:${kind}`, 'text')
    const { records, next } = batch(3, 2)
    const applying = () => readModel.apply(P, checkpoint, next, records, 'unused')
    await expectUnchanged(() => expect(applying()).rejects.toThrow('WRONGTYPE'))
  })

  it('an offset in non-canonical text is an invalid checkpoint, because the scripts compare text', async () => {
    const { redis, readModel, at, live } = await openGenerations()
    const checkpoint = await live('old', 3)
    await redis.hset(`${at}old:meta`, 'checkpoint', '02')
    const { records, next } = batch(3, 2)
    await expect(readModel.apply(P, checkpoint, next, records, 'unused')).rejects.toThrow('"02"')
    await expect(readModel.meta(P)).rejects.toThrow('"02"')
  })
})
