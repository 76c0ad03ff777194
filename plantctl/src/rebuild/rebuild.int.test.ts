import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, BEFORE_FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { describe, expect, it, vi } from 'vitest'
import { mixedEvents, newEvent } from '../../../tests/support/new-events.ts'
import { openTransactional } from '../../../tests/support/other-producers.ts'
import { openProjectedStore } from '../../../tests/support/projected-store.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { dumpKeys, readStoredPartition } from '../../../tests/support/stored-partition.ts'
import { rebuildStore } from './open-rebuild.ts'
import type { RebuildRun } from './rebuild-options.ts'
import type { PartitionProgress } from './rebuild-progress.ts'

const PARTITIONS = 2
const ALL = allPartitions(PARTITIONS)
const WAIT_MS = 30_000

type Store = Awaited<ReturnType<typeof openProjectedStore>>
const fillStore = (store: Store) => store.append(mixedEvents(1_500, 900, PARTITIONS))

/** A store whose log was filled and projected, by a projector that has ended. */
async function openProjected(fill: (store: Store) => Promise<unknown> = fillStore) {
  const store = await openProjectedStore(PARTITIONS)
  await fill(store)
  const { projector } = store.startProjector()
  await store.untilProjected()
  await projector.close()
  const { topic: log, redis, metas } = store
  const { generations } = store.readModel
  const at = (partition: Partition) => `{${log.topic}:${partition}}:`

  /** The contents of the live generations, key by key. */
  const content = () => Promise.all(ALL.map((partition) => readStoredPartition(redis, log.topic, partition)))
  const before = await content()

  function rebuild(run: Partial<RebuildRun> = {}, changes: Partial<Generations> = {}) {
    const { signal } = new AbortController()
    const all = { partitions: ALL, fromEmpty: false, signal, onProgress() {} }
    return rebuildStore({ ...log, generations: { ...generations, ...changes }, log: quietLog }, { ...all, ...run })
  }

  /** Expects only keys of the live generations. */
  async function expectNothingLeft(): Promise<void> {
    for (const { live, filling, names } of (await generations.list()).partitions) {
      expect({ filling, names }).toEqual({ filling: '', names: [live] })
    }
  }

  return {
    ...{ ...store, generations, at, rebuild, expectNothingLeft },
    names: async () => (await metas()).map(({ generation }) => generation),
    dump: () => dumpKeys(redis, log.topic),

    /** Rebuilds, and expects new generations with the contents that were projected, and no other keys. */
    async expectRebuilt(...run: Parameters<typeof rebuild>) {
      const results = await rebuild(...run)
      expect(results.map(({ is }) => is)).toEqual(['switched', 'switched'])
      expect(await content()).toEqual(before)
      await expectNothingLeft()
      return results
    },
  }
}

/** Appends records of an aborted transaction, which no consumer reads. */
async function abortTransaction({ topic: { kafka, topic }, ends }: Store, messages: NewRecord[]): Promise<void> {
  const size = async () => (await ends()).reduce((sum, end) => sum + end, 0)
  const before = await size()
  const transaction = await (await openTransactional(kafka)).transaction()
  await transaction.send({ topic, messages })
  await transaction.abort()
  // The control record of each partition is written after the response to the abort.
  await vi.waitFor(async () => expect(await size()).toBe(before + messages.length + PARTITIONS), WAIT_MS)
}

/** Interrupts the rebuild when it has passed this many records of a partition. */
function interruptedAfter(records: number): Partial<RebuildRun> {
  const abort = new AbortController()
  const onProgress = ({ passed }: PartitionProgress) => {
    if (passed >= records) abort.abort(new Error('interrupted'))
  }
  return { signal: abort.signal, onProgress, recordsPerSecond: 50_000 }
}

describe('a rebuild', () => {
  it('makes equal generations under new names, and leaves nothing else', async () => {
    const store = await openProjected()
    const old = await store.names()
    const phases = new Set<string>()
    const results = await store.expectRebuilt({ onProgress: ({ phase }) => phases.add(phase) })
    const names = await store.names()
    expect(results.map(({ generation }) => generation)).toEqual(names)
    expect(names.filter((name) => old.includes(name))).toEqual([])
    expect(phases).toEqual(new Set(['filling', 'verifying', 'switching', 'switched']))
  })

  it.each([
    ['after', mixedEvents(300, 200, PARTITIONS)],
    ['without', []],
  ])('completes for a log that ends with an aborted transaction, %s other records', async (_what, events) => {
    const store = await openProjected(async (opened) => {
      if (events.length > 0) await opened.append(events)
      const aborted = Array.from({ length: 50 }, (_, n) => newEvent(BigInt(5_000 + n), PARTITIONS))
      await abortTransaction(opened, aborted)
    })
    for (const slices of [{}, { recordsAtOnceMax: 100 }]) await store.expectRebuilt(slices)
  })

  it('leaves what it filled when it is interrupted, and the next one continues there', async () => {
    const store = await openProjected()
    const before = await store.dump()
    await expect(store.rebuild(interruptedAfter(600))).rejects.toThrow('interrupted')
    const left = (await store.generations.list()).partitions.map(({ filling }) => filling)
    const states = await Promise.all(ALL.map((p) => store.generations.state(p, left[p])))
    const reached = states.map(({ checkpoint }) => checkpoint?.offset ?? BEFORE_FIRST)
    expect(Math.max(...reached)).toBeGreaterThan(BEFORE_FIRST)
    for (const [key, content] of before) expect((await store.dump()).get(key)).toBe(content)
    // A partition may be complete already: this adds something to fill.
    await store.append(mixedEvents(200, 900, PARTITIONS))
    const filledFrom = ALL.map((): number[] => [])
    const fill: Generations['fill'] = (partition, generation, expected, ...more) => {
      filledFrom[partition]?.push(expected.offset)
      return store.generations.fill(partition, generation, expected, ...more)
    }
    const resumed = await store.rebuild({}, { fill })
    expect(resumed.map(({ generation }) => generation)).toEqual(left)
    expect(filledFrom.map((from) => Math.min(...from))).toEqual(reached)
    await store.expectNothingLeft()
  })

  it('rejects and drops a new generation that differs, reports the differences, and keeps the live one', async () => {
    const store = await openProjected()
    await expect(store.rebuild(interruptedAfter(600))).rejects.toThrow('interrupted')
    const left = (await store.generations.list()).partitions
    const orders = left.map(({ partition, filling }) => `${store.at(partition)}${filling}:order`)
    const lasts = await Promise.all(orders.map((order) => store.redis.lindex(order, -1)))
    // The interruption may come before anything is filled in the other one.
    const P = lasts.findIndex((last) => last !== null) as Partition
    const [id, filling] = [lasts[P] as string, left[P]?.filling]
    await store.redis.hdel(`${store.at(P)}${filling}:plants`, id)
    const before = await store.names()
    const results = await store.rebuild()
    const different = results[P]
    expect(different).toMatchObject({ is: 'different', partition: P, generation: filling })
    const differences = different?.is === 'different' ? different.differences : []
    expect(differences).toContainEqual(expect.objectContaining({ partition: P, generation: filling, id }))
    expect((await store.names())[P]).toBe(before[P])
    await store.expectNothingLeft()
    expect((await store.rebuild()).map(({ is }) => is)).toEqual(['switched', 'switched'])
  })

  it('abandons a generation that was filled from a longer log, and starts again', async () => {
    const store = await openProjected()
    const P = 0 as Partition
    await store.generations.startFilling(P, 'of-a-longer-log')
    await store.redis.hset(`${store.at(P)}of-a-longer-log:meta`, 'checkpoint', 1_000_000)
    await store.expectRebuilt()
    expect((await store.names())[P]).not.toBe('of-a-longer-log')
  })

  it('refuses a partition that Redis has nothing of, and fills it with fromEmpty', async () => {
    const store = await openProjected()
    await store.redis.del(`${store.at(0 as Partition)}live`)
    const unchanged = await store.dump()
    await expect(store.rebuild()).rejects.toThrow(/nothing of partition 0.*--from-empty/)
    expect(await store.dump()).toEqual(unchanged)
    await store.expectRebuilt({ fromEmpty: true })
  })

  it('repairs a live generation with a dangling or expiring pointer, an order of another type, or an invalid checkpoint', async () => {
    const store = await openProjected()
    const at = store.at(0 as Partition)
    const damages = [
      () => store.redis.set(`${at}live`, 'nothing'),
      () => store.redis.expire(`${at}live`, 1_000),
      (name: string) => store.redis.set(`${at}${name}:order`, 'text'),
    ]
    for (const damage of damages) {
      await damage((await store.names())[0] as string)
      await store.expectRebuilt({ fromEmpty: true })
      expect(await store.redis.ttl(`${at}live`)).toBe(-1)
    }
    await store.redis.hset(`${at}${(await store.names())[0]}:meta`, 'checkpoint', 'x')
    await expect(store.names()).rejects.toThrow(/invalid checkpoint, "x".*plantctl verify names the repair/)
    // Redis has something of the partition.
    await store.expectRebuilt()
  })
})
