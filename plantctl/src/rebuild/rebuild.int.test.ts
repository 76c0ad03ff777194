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
import { RebuildError } from './rebuild-error.ts'
import type { RebuildRun } from './rebuild-options.ts'
import type { PartitionProgress } from './rebuild-progress.ts'

const PARTITIONS = 2
const ALL = allPartitions(PARTITIONS)
const WAIT_MS = 30_000
const eventOf = (id: bigint) => newEvent(id, PARTITIONS)

async function openStore() {
  const store = await openProjectedStore(PARTITIONS)
  const { topic: log, redis, metas, ends } = store
  const { generations } = store.readModel
  const at = (partition: Partition) => `{${log.topic}:${partition}}:`

  return {
    ...{ ...store, generations, at },

    /** Appends records of an aborted transaction, which no consumer reads. */
    async abortTransaction(records: NewRecord[]): Promise<void> {
      const size = async () => (await ends()).reduce((sum, end) => sum + end, 0)
      const before = await size()
      const transaction = await (await openTransactional(log.kafka)).transaction()
      await transaction.send({ topic: log.topic, messages: records })
      await transaction.abort()
      // The control record of each partition is written after the response to the abort.
      await vi.waitFor(async () => expect(await size()).toBe(before + records.length + PARTITIONS), WAIT_MS)
    },

    rebuild(run: Partial<RebuildRun> = {}, changes: Partial<Generations> = {}) {
      const { signal } = new AbortController()
      const all = { partitions: ALL, fromEmpty: false, signal, onProgress() {} }
      return rebuildStore({ ...log, generations: { ...generations, ...changes }, log: quietLog }, { ...all, ...run })
    },

    names: async () => (await metas()).map(({ generation }) => generation),
    /** The contents of the live generations, key by key. */
    content: () => Promise.all(ALL.map((partition) => readStoredPartition(redis, log.topic, partition))),
    dump: () => dumpKeys(redis, log.topic),

    /** Expects only keys of the live generations. */
    async expectNothingLeft(): Promise<void> {
      for (const { live, filling, names } of (await generations.list()).partitions) {
        expect({ filling, names }).toEqual({ filling: '', names: [live] })
      }
    },
  }
}

/** A store whose log was projected by a projector that has ended. */
async function openProjected(events = mixedEvents(1_500, 900, PARTITIONS)) {
  const store = await openStore()
  await store.append(events)
  const { projector } = store.startProjector()
  await store.untilProjected()
  await projector.close()
  return store
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
    const [before, old] = [await store.content(), await store.names()]
    const phases = new Set<string>()
    const results = await store.rebuild({
      onProgress: ({ phase, passed, total }) => {
        phases.add(phase)
        expect(passed).toBeLessThanOrEqual(total)
      },
    })
    expect(results.map(({ is }) => is)).toEqual(['switched', 'switched'])
    expect(await store.content()).toEqual(before)
    const names = await store.names()
    expect(results.map(({ generation }) => generation)).toEqual(names)
    expect(names.filter((name) => old.includes(name))).toEqual([])
    await store.expectNothingLeft()
    expect(phases).toEqual(new Set(['filling', 'verifying', 'switching', 'switched']))
  })

  it.each([
    ['after', mixedEvents(300, 200, PARTITIONS)],
    ['without', []],
  ])('completes for a log that ends with an aborted transaction, %s other records', async (_what, events) => {
    const store = await openStore()
    if (events.length > 0) await store.append(events)
    await store.abortTransaction(Array.from({ length: 50 }, (_, n) => eventOf(BigInt(5_000 + n))))
    const { projector } = store.startProjector()
    await store.untilProjected()
    await projector.close()
    const before = await store.content()
    for (const recordsAtOnceMax of [undefined, 100]) {
      const results = await store.rebuild(recordsAtOnceMax === undefined ? {} : { recordsAtOnceMax })
      expect(results.map(({ is }) => is)).toEqual(['switched', 'switched'])
      expect(await store.content()).toEqual(before)
    }
    await store.expectNothingLeft()
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
    const P = ((await store.generations.list()).partitions.find(({ names }) => names.length > 1)?.partition ??
      0) as Partition
    const { filling } = (await store.generations.list()).partitions[P] as { filling: string }
    const id = String(await store.redis.lindex(`${store.at(P)}${filling}:order`, -1))
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

  it('succeeds at least once when two run at the same time, and harms nothing', async () => {
    const store = await openProjected()
    const before = await store.content()
    const both = await Promise.allSettled([store.rebuild(), store.rebuild()])
    expect(both.some(({ status }) => status === 'fulfilled')).toBe(true)
    expect(await store.content()).toEqual(before)
    await store.rebuild()
    expect(await store.content()).toEqual(before)
    await store.expectNothingLeft()
  })

  it('abandons a generation that was filled from a longer log, and starts again', async () => {
    const store = await openProjected()
    const before = await store.content()
    const P = 0 as Partition
    await store.generations.startFilling(P, 'of-a-longer-log')
    await store.redis.hset(`${store.at(P)}of-a-longer-log:meta`, 'checkpoint', 1_000_000)
    const results = await store.rebuild()
    expect(results.map(({ is }) => is)).toEqual(['switched', 'switched'])
    expect((await store.names())[P]).not.toBe('of-a-longer-log')
    expect(await store.content()).toEqual(before)
    await store.expectNothingLeft()
  })

  it.each(['plants', 'order'])('fills another generation when the one to switch to has lost its %s', async (key) => {
    const store = await openProjected()
    const before = await store.content()
    let lost = ''
    const switchTo: Generations['switchTo'] = async (partition, call) => {
      if (lost === '') await store.redis.del(`${store.at(partition)}${call.generation}:${key}`)
      lost ||= call.generation
      return store.generations.switchTo(partition, call)
    }
    const results = await store.rebuild({}, { switchTo })
    expect(results.map(({ is }) => is)).toEqual(['switched', 'switched'])
    expect(await store.names()).not.toContain(lost)
    expect(await store.content()).toEqual(before)
    await store.expectNothingLeft()
  })

  it('refuses a partition that Redis has nothing of, and fills it with fromEmpty', async () => {
    const store = await openProjected()
    const before = await store.content()
    await store.redis.del(`${store.at(0 as Partition)}live`)
    const unchanged = await store.dump()
    await expect(store.rebuild()).rejects.toThrow(RebuildError)
    await expect(store.rebuild()).rejects.toThrow(/nothing of partition 0.*--from-empty/)
    expect(await store.dump()).toEqual(unchanged)
    const results = await store.rebuild({ fromEmpty: true })
    expect(results.map(({ is }) => is)).toEqual(['switched', 'switched'])
    expect(await store.content()).toEqual(before)
    await store.expectNothingLeft()
  })

  it('repairs a live generation', async () => {
    const store = await openProjected()
    const before = await store.content()
    const at = store.at(0 as Partition)
    const damages: Record<string, (name: string) => Promise<unknown>> = {
      'a dangling pointer': () => store.redis.set(`${at}live`, 'nothing'),
      'a pointer that expires': () => store.redis.expire(`${at}live`, 1_000),
      'an order of another type': (name) => store.redis.set(`${at}${name}:order`, 'text'),
    }
    for (const [what, harm] of Object.entries(damages)) {
      await harm((await store.names())[0] as string)
      const results = await store.rebuild({ fromEmpty: true })
      expect(
        results.map(({ is }) => is),
        what,
      ).toEqual(['switched', 'switched'])
      expect(await store.content(), what).toEqual(before)
      expect(await store.redis.ttl(`${at}live`), what).toBe(-1)
      await store.expectNothingLeft()
    }
  })
})
