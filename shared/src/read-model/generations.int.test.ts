import { describe, expect, it } from 'vitest'
import { batch, openGenerations, P, PARTITIONS } from '../../../tests/support/opened-generations.ts'
import { startOwnRedis } from '../../../tests/support/own-stores.ts'
import type { PlantId } from '../plant/plant.ts'
import type { LogRecord } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import { BEFORE_LOG } from '../protocol/checkpoint.ts'
import { PreconditionError } from '../runtime/failures.ts'

const SWITCH = { generation: 'new', mark: 'mark', expectedLive: 'old', verified: 0 as Offset }

// tests/simulation/redis-scripts.long shows the results of the scripts in any order, and after losses of data.
describe('starting to fill', () => {
  it('creates an empty generation, and resumes it at its checkpoint', async () => {
    const { generations } = await openGenerations()
    expect(await generations.startFilling(P, 'one')).toEqual({
      is: 'started',
      generation: 'one',
      checkpoint: BEFORE_LOG,
    })
    const { records, next } = batch(0, 2)
    await generations.fill(P, 'one', BEFORE_LOG, next, records)
    expect(await generations.startFilling(P, 'two')).toEqual({
      is: 'resumed',
      generation: 'one',
      checkpoint: next,
    })
    expect(await generations.state(P, 'one')).toMatchObject({
      ...{ generation: 'one', live: '', filling: 'one', checkpoint: next, fold: 1, partitions: PARTITIONS },
      ...{ plants: 2, voids: 0, parked: 0, mark: '', sizes: { plants: 2, order: 2, parked: 0 } },
      ttlMs: { live: -2, filling: -1, meta: -1, plants: -1, order: -1, parked: -2 },
    })
  })

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

  it('refuses beside what a newer release folded, live or being filled, and a live one of another topic size', async () => {
    const { generations, redis, at, live, expectUnchanged } = await openGenerations()
    await live('old', 1)
    await redis.hset(`${at}old:meta`, 'fold', 2)
    const begin = () => generations.startFilling(P, 'new')
    await expectUnchanged(() => expect(begin()).rejects.toThrow(PreconditionError))
    await expectUnchanged(() => expect(begin()).rejects.toThrow(/fold version 2.*start that release/))
    await redis.hset(`${at}old:meta`, 'fold', 1, 'partitions', 4)
    await expectUnchanged(() => expect(begin()).rejects.toThrow(/4 partitions.*PLANTS_PARTITIONS is 3/))
    await redis.hset(`${at}old:meta`, 'partitions', 3)
    await begin()
    await redis.hset(`${at}new:meta`, 'fold', 2)
    await expectUnchanged(() => expect(begin()).rejects.toThrow(PreconditionError))
  })

  it('leaves what has lost its meta, and begins anew', async () => {
    const { generations, redis, at, filled } = await openGenerations()
    await filled('left', 2)
    await redis.del(`${at}left:meta`)
    expect(await generations.startFilling(P, 'fresh')).toMatchObject({ is: 'started', generation: 'fresh' })
    expect(await generations.drop(P, 'left')).toEqual({ is: 'dropped', keys: 2 })
  })

  it('does not fill what is live', async () => {
    const { generations, redis, at, live } = await openGenerations()
    await live('old', 1)
    await redis.set(`${at}filling`, 'old')
    expect(await generations.startFilling(P, 'fresh')).toMatchObject({ is: 'started', generation: 'fresh' })
  })
})

it('filling returns the checkpoint when it is not the expected one, and does not recreate a deleted generation', async () => {
  const { generations, filled, live, expectUnchanged } = await openGenerations()
  await live('old', 1)
  const next = await filled('new', 2)
  const more = batch(5, 1)
  const fill = (name: string) => generations.fill(P, name, BEFORE_LOG, more.next, more.records)
  expect(await expectUnchanged(() => fill('new'))).toEqual({ is: 'stale', checkpoint: next })
  expect(await expectUnchanged(() => fill('never'))).toEqual({ is: 'gone' })
  await generations.drop(P, 'new', { abandon: true })
  expect(await expectUnchanged(() => fill('new'))).toEqual({ is: 'gone' })
})

describe('switching', () => {
  it('makes the filled generation live, and leaves neither mark nor pointer', async () => {
    const { generations, live, filled, readModel } = await openGenerations()
    await live('old', 2)
    const next = await filled('new', 3)
    expect(await generations.switchTo(P, SWITCH)).toEqual({ is: 'switched' })
    expect(await readModel.meta(P)).toMatchObject({ generation: 'new', checkpoint: next, plants: 3 })
    expect(await generations.state(P)).toMatchObject({ generation: 'new', filling: '', mark: '' })
    const [found] = await readModel.lookUp([{ partition: P, ids: [2n as PlantId] }])
    expect(found?.entries[0]).toMatchObject({ id: 2n })
  })

  it('is refused when a generation is live although none is expected', async () => {
    const { generations, live, filled, expectUnchanged } = await openGenerations()
    await live('old', 1)
    await filled('new', 1)
    const refused = () => generations.switchTo(P, { ...SWITCH, expectedLive: '' })
    expect(await expectUnchanged(refused)).toEqual({ is: 'changed', live: 'old' })
  })

  it('leaves the pointer to what another rebuild fills', async () => {
    const { generations, redis, at, live, filled } = await openGenerations()
    await live('old', 1)
    await filled('new', 1)
    await redis.set(`${at}filling`, 'another')
    expect(await generations.switchTo(P, SWITCH)).toEqual({ is: 'switched' })
    expect(await redis.get(`${at}filling`)).toBe('another')
  })

  it('marks neither what is gone nor what is live', async () => {
    const { generations, live, expectUnchanged } = await openGenerations()
    await live('old', 1)
    expect(await expectUnchanged(() => generations.mark(P, 'old', 'm'))).toEqual({ is: 'live' })
    expect(await expectUnchanged(() => generations.mark(P, 'never', 'm'))).toEqual({ is: 'gone' })
  })
})

it('dropping takes all keys of a generation, and neither what is live nor, unless abandoned, what is filled', async () => {
  const { generations, redis, topic, live, filled, expectUnchanged } = await openGenerations()
  await live('old', 1)
  await filled('new', 2)
  expect(await expectUnchanged(() => generations.drop(P, 'old', { abandon: true }))).toEqual({ is: 'live' })
  expect(await expectUnchanged(() => generations.drop(P, 'new'))).toEqual({ is: 'filling' })
  expect(await generations.drop(P, 'new', { abandon: true })).toEqual({ is: 'dropped', keys: 3 })
  expect(await redis.keys(`{${topic}:*new*`)).toEqual([])
  expect(await generations.state(P)).toMatchObject({ live: 'old', filling: '' })
  expect(await generations.drop(P, 'new')).toEqual({ is: 'dropped', keys: 0 })
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

it('a Redis that is full rejects every start, fill, mark and switch without a partial write, and drops', async () => {
  const { url } = await startOwnRedis()
  const { generations, redis, live, filled, expectUnchanged } = await openGenerations({ redisUrl: url })
  await live('old', 1)
  const next = await filled('new', 1)
  const more = batch(1, 1)
  await redis.config('SET', 'maxmemory', '1')
  for (const refused of [
    () => generations.startFilling(0 as Partition, 'fresh'),
    () => generations.fill(P, 'new', next, more.next, more.records),
    () => generations.mark(P, 'new', 'another'),
    () => generations.switchTo(P, SWITCH),
  ]) {
    await expectUnchanged(() => expect(refused()).rejects.toThrow(/OOM/))
  }
  expect(await generations.state(P, 'new')).toMatchObject({ mark: 'mark', live: 'old', filling: 'new' })
  expect(await generations.startFilling(P, 'fresh')).toMatchObject({ is: 'resumed', generation: 'new' })
  expect(await generations.drop(P, 'new', { abandon: true })).toMatchObject({ is: 'dropped' })
  await redis.config('SET', 'maxmemory', '0')
})
