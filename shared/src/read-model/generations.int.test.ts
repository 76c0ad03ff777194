import { expect, it } from 'vitest'
import { openReadModel } from '../../../tests/support/opened-read-model.ts'
import { startOwnRedis } from '../../../tests/support/own-stores.ts'
import { batchOf } from '../../../tests/support/small-log.ts'
import { dumpKeys } from '../../../tests/support/stored-partition.ts'
import type { PlantId } from '../plant/plant.ts'
import { PARKED } from '../plant/plant-created.ts'
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
      const started = { is: 'started', generation: name, checkpoint: BEFORE_LOG }
      expect(await generations.startFilling(P, name)).toEqual(started)
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

it.each(['x', ''])('a fold version "%s" is not that of a newer release: what is applied corrects it', async (fold) => {
  const { readModel, generations, redis, apply, at, live } = await openGenerations()
  const checkpoint = await live('old', 2)
  await redis.hset(`${at}old:meta`, { fold })
  expect(await readModel.meta(P)).toMatchObject({ checkpoint })
  expect(await generations.reapply(P, [])).toBe(0)
  await apply(P, checkpoint, batch(2, 1))
  expect(await generations.state(P)).toMatchObject({ fold: 1, plants: 3 })
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
  expect(await generations.drop(P, 'new', { abandon: true })).toMatchObject({ is: 'dropped' })
  await redis.config('SET', 'maxmemory', '0')
  await apply(P, at, more)
  expect(await readModel.meta(P)).toMatchObject({ checkpoint: more.next, plants: 3 })
})

it.each(['', 'x', '007', '1e3', '-2'])('a checkpoint %j of what is filled is not gone on from', async (text) => {
  const { redis, generations, at, filled } = await openGenerations()
  await filled('odd', 5)
  await redis.hset(`${at}odd:meta`, 'checkpoint', text)
  const result = { is: 'started', generation: 'next', checkpoint: BEFORE_LOG }
  expect(await generations.startFilling(P, 'next')).toEqual(result)
})

it.each([
  ['fold', 'x'],
  ['fold', undefined],
  ['checkpoint', ''],
])('a live generation whose %s is %j gives way to one that is verified', async (field, text) => {
  const { redis, generations, at, live, filled } = await openGenerations()
  await live('old', 3)
  if (text === undefined) await redis.hdel(`${at}old:meta`, field)
  else await redis.hset(`${at}old:meta`, field, text)
  await filled('new', 5)
  expect(await generations.switchTo(P, SWITCH)).toEqual({ is: 'switched' })
})

it('nothing is applied to a key of another type, or after an offset in non-canonical text: the scripts compare text', async () => {
  const { redis, readModel, at, live, expectUnchanged } = await openGenerations()
  const checkpoint = await live('old', 3)
  const { records, next } = batch(3, 2)
  const applying = () => readModel.apply(P, checkpoint, next, records, 'unused')
  await redis.hset(`${at}old:meta`, 'checkpoint', '02')
  await expectUnchanged(() => expect(applying()).rejects.toThrow('"02"'))
  await expect(readModel.meta(P)).rejects.toThrow('"02"')
  await redis.hset(`${at}old:meta`, 'checkpoint', '2')
  for (const kind of ['parked', 'order', 'plants']) {
    await redis.set(`${at}old:${kind}`, 'text')
    await expectUnchanged(() => expect(applying()).rejects.toThrow('WRONGTYPE'))
  }
})
