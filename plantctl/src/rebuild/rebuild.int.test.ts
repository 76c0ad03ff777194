import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewRecord, plantCreated, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, BEFORE_FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import type { Redis } from 'ioredis'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { createProjector } from '../../../services/projector/src/projector.ts'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { openRedis } from '../../../tests/support/plant-store.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { dumpKeys, readStoredPartition } from '../../../tests/support/stored-partition.ts'
import { createTestTopic } from '../../../tests/support/topic.ts'
import { RebuildError } from './failures.ts'
import { openRebuild } from './open-rebuild.ts'
import type { Progress } from './progress.ts'
import type { RebuildRun } from './rebuild.ts'

const PARTITIONS = 2
const ALL = allPartitions(PARTITIONS)
const WAIT_MS = 30_000
const eventOf = (id: bigint) => plantCreated(newPlant(id), randomUUID() as EventId, PARTITIONS)

/** So many events of so many ids, some twice, some unreadable, some foreign. */
function mixedEvents(count: number, ids: number): NewRecord[] {
  return Array.from({ length: count }, (_, n) => eventOf(BigInt(n % ids))).flatMap((event, n) => {
    if (n % 7 === 0) return [event, event]
    if (n % 11 === 0) return [{ ...event, value: Buffer.from('{') }]
    if (n % 13 === 0) return [{ ...event, headers: {} }]
    return [event]
  })
}

async function openStore() {
  const log = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const redis = openRedis(inject('redisUrl'))
  const readModel = createReadModel({ redisUrl: inject('redisUrl'), ...log }, quietLog)
  await readModel.ready()
  const { generations } = readModel
  const appender = createAppender(log.kafka, log.topic)
  await appender.connect()
  onTestFinished(async () => {
    await Promise.all([appender.close(), readModel.close()])
  })
  const at = (partition: Partition) => `{${log.topic}:${partition}}:`
  const metas = () => Promise.all(ALL.map((partition) => readModel.meta(partition)))
  const quietly = { log: quietLog, time: systemTime }

  return {
    ...{ redis, readModel, generations, at, append: appender.append },

    /** Leaves nothing but what nobody reads at the end of the log. */
    async abortTransaction(records: NewRecord[]): Promise<void> {
      const size = async () => (await checkTopic(log.kafka, log)).ends.reduce((sum, end) => sum + end, 0)
      const before = await size()
      const producer = log.kafka.producer({
        transactionalId: randomUUID(),
        maxInFlightRequests: 1,
        idempotent: true,
      })
      await producer.connect()
      const transaction = await producer.transaction()
      await transaction.send({ topic: log.topic, messages: records })
      await transaction.abort()
      await producer.disconnect()
      // The control record of each partition is written after the end of the transaction was answered.
      await vi.waitFor(async () => expect(await size()).toBe(before + records.length + PARTITIONS), WAIT_MS)
    },

    startProjector() {
      const projector = createProjector({
        readModel,
        follow: (sink) =>
          createFollower({
            ...{ ...log, ...sink, ...quietly, minBytes: 1, maxWaitMs: 20 },
            groupId: () => `${log.topic}-projector`,
            read: (record, partition) => readRecord(record, partition, PARTITIONS),
          }),
        ...quietly,
        freshGeneration: randomUUID,
        onHalt: () => undefined,
      })
      onTestFinished(() => projector.close())
      projector.start()
      return projector
    },

    async untilProjected(): Promise<void> {
      const { ends } = await checkTopic(log.kafka, log)
      await vi.waitFor(async () => {
        expect((await metas()).map(({ checkpoint }) => checkpoint.offset + 1)).toEqual(ends)
      }, WAIT_MS)
    },

    async rebuild(run: Partial<RebuildRun> = {}, recordsAtOnceMax?: number) {
      const options = { ...log, generations, log: quietLog }
      const rebuild = openRebuild({ ...options, ...(recordsAtOnceMax && { recordsAtOnceMax }) })
      const signal = new AbortController().signal
      return rebuild.run({ partitions: ALL, fromEmpty: false, signal, onProgress() {}, ...run })
    },

    names: async () => (await metas()).map(({ generation }) => generation),
    /** All that the live generations hold, key by key. */
    content: () => Promise.all(ALL.map((partition) => readStoredPartition(redis, log.topic, partition))),
    dump: () => dumpKeys(redis, log.topic),

    /** Besides the live generations there is no key. */
    async expectNothingLeft(): Promise<void> {
      for (const { live, filling, names } of (await generations.list()).partitions) {
        expect({ filling, names }).toEqual({ filling: '', names: [live] })
      }
    },
  }
}

/** A store whose log is projected, and whose projector has ended. */
async function openProjected(events = mixedEvents(1_500, 900)) {
  const store = await openStore()
  await store.append(events)
  const projector = store.startProjector()
  await store.untilProjected()
  await projector.close()
  return store
}

/** Breaks off the rebuild when it has passed so many records of some partition. */
function brokenOffAfter(records: number): Partial<RebuildRun> {
  const abort = new AbortController()
  const onProgress = ({ passed }: Progress) => {
    if (passed >= records) abort.abort(new Error('broken off'))
  }
  return { signal: abort.signal, onProgress, recordsPerSecond: 50_000 }
}

describe('a rebuild', () => {
  it('makes the same again under new names, and leaves nothing else', async () => {
    const store = await openProjected()
    const [before, old] = [await store.content(), await store.names()]
    const phases = new Set<string>()
    const finished = await store.rebuild({
      onProgress: ({ phase, passed, of }) => {
        phases.add(phase)
        expect(passed).toBeLessThanOrEqual(of)
      },
    })
    expect(finished.map(({ is }) => is)).toEqual(['switched', 'switched'])
    expect(await store.content()).toEqual(before)
    const names = await store.names()
    expect(finished.map(({ generation }) => generation)).toEqual(names)
    expect(names.filter((name) => old.includes(name))).toEqual([])
    await store.expectNothingLeft()
    expect(phases).toEqual(new Set(['filling', 'verifying', 'switching', 'switched']))
  })

  it.each([
    ['after', mixedEvents(300, 200)],
    ['without', []],
  ])('of a log that ends with an aborted transaction, %s others, comes to its end', async (_what, events) => {
    const store = await openStore()
    if (events.length > 0) await store.append(events)
    await store.abortTransaction(Array.from({ length: 50 }, (_, n) => eventOf(BigInt(5_000 + n))))
    const projector = store.startProjector()
    await store.untilProjected()
    await projector.close()
    const before = await store.content()
    for (const recordsAtOnceMax of [undefined, 100]) {
      const finished = await store.rebuild({}, recordsAtOnceMax)
      expect(finished.map(({ is }) => is)).toEqual(['switched', 'switched'])
      expect(await store.content()).toEqual(before)
    }
    await store.expectNothingLeft()
  })

  it('in groups, and with slices of the ids, makes the same', async () => {
    const store = await openProjected()
    const before = await store.content()
    const finished = await store.rebuild({}, 300)
    expect(finished.map(({ is }) => is)).toEqual(['switched', 'switched'])
    expect(await store.content()).toEqual(before)
    await store.expectNothingLeft()
  })

  it('while events come and a projector applies them, switches to what is no older', async () => {
    const store = await openProjected()
    store.startProjector()
    let isDone = false
    const writing = (async () => {
      for (let n = 0; !isDone; n++) {
        await store.append(Array.from({ length: 20 }, (_, k) => eventOf(BigInt(10_000 + 20 * n + k))))
      }
    })()
    const finished = await store.rebuild()
    isDone = true
    await writing
    expect(finished.map(({ is }) => is)).toEqual(['switched', 'switched'])
    await store.untilProjected()
    const live = await store.content()
    await store.rebuild()
    expect(await store.content()).toEqual(live)
    await store.expectNothingLeft()
  })

  it('that is broken off leaves what it filled, and the next one goes on there', async () => {
    const store = await openProjected()
    const before = await store.dump()
    await expect(store.rebuild(brokenOffAfter(600))).rejects.toThrow('broken off')
    const left = (await store.generations.list()).partitions.map(({ filling }) => filling)
    const states = await Promise.all(ALL.map((p) => store.generations.state(p, left[p])))
    expect(states.some(({ checkpoint }) => (checkpoint?.offset ?? BEFORE_FIRST) > BEFORE_FIRST)).toBe(true)
    for (const [key, content] of before) expect((await store.dump()).get(key)).toBe(content)
    const resumed = await store.rebuild()
    expect(resumed.map(({ generation }) => generation)).toEqual(left)
    await store.expectNothingLeft()
  })

  it('does not fill again what was filled', async () => {
    const store = await openProjected()
    await expect(store.rebuild(brokenOffAfter(600))).rejects.toThrow('broken off')
    // The partition may be filled already: so that there is something to fill.
    await store.append(mixedEvents(200, 900))
    const { names: _names, ...left } = (await store.generations.list()).partitions[0] as {
      filling: string
      names: string[]
    }
    const { checkpoint } = await store.generations.state(0 as Partition, left.filling)
    expect(checkpoint?.offset).toBeGreaterThan(BEFORE_FIRST)
    const monitor = await store.redis.monitor()
    onTestFinished(() => monitor.disconnect())
    const expected: number[] = []
    monitor.on('monitor', (_time: string, [command = '', , , pointer, generation, , , from]: string[]) => {
      if (
        command === 'evalsha' &&
        pointer === `${store.at(0 as Partition)}live` &&
        generation === left.filling
      )
        if (from !== undefined && /^-?\d+$/.test(from)) expected.push(Number(from))
    })
    await store.rebuild()
    await vi.waitFor(() => expect(expected.length).toBeGreaterThan(0), WAIT_MS)
    expect(Math.min(...expected)).toBe(checkpoint?.offset)
  })

  it('refuses what was filled wrongly, tells how it differs, drops it, and leaves the live one alone', async () => {
    const store = await openProjected()
    await expect(store.rebuild(brokenOffAfter(600))).rejects.toThrow('broken off')
    const P = ((await store.generations.list()).partitions.find(({ names }) => names.length > 1)?.partition ??
      0) as Partition
    const { filling } = (await store.generations.list()).partitions[P] as { filling: string }
    const [id = ''] = await store.redis.hkeys(`${store.at(P)}${filling}:plants`)
    await store.redis.hdel(`${store.at(P)}${filling}:plants`, id)
    const before = await store.names()
    const finished = await store.rebuild()
    const different = finished[P]
    expect(different).toMatchObject({ is: 'different', partition: P, generation: filling })
    const told = different?.is === 'different' ? different.differences : []
    expect(told).toContainEqual(expect.objectContaining({ partition: P, generation: filling, id }))
    expect((await store.names())[P]).toBe(before[P])
    await store.expectNothingLeft()
    expect((await store.rebuild()).map(({ is }) => is)).toEqual(['switched', 'switched'])
  })

  it('two at once harm nothing, and one of them at least succeeds', async () => {
    const store = await openProjected()
    const before = await store.content()
    const both = await Promise.allSettled([store.rebuild(), store.rebuild()])
    expect(both.some(({ status }) => status === 'fulfilled')).toBe(true)
    expect(await store.content()).toEqual(before)
    await store.rebuild()
    expect(await store.content()).toEqual(before)
    await store.expectNothingLeft()
  })

  it('begins anew when what it fills is taken away', async () => {
    const store = await openProjected()
    const before = await store.content()
    let dropped: Promise<unknown> | undefined
    const drop = async () => {
      for (const { partition, filling } of (await store.generations.list()).partitions)
        await store.generations.drop(partition, filling, { abandon: true })
    }
    const finished = await store.rebuild({
      onProgress() {
        dropped ??= drop()
      },
      recordsPerSecond: 5_000,
    })
    await dropped
    expect(finished.map(({ is }) => is)).toEqual(['switched', 'switched'])
    expect(await store.content()).toEqual(before)
    await store.expectNothingLeft()
  })

  it('abandons what was filled from a longer log, and begins anew', async () => {
    const store = await openProjected()
    const before = await store.content()
    const P = 0 as Partition
    await store.generations.startFilling(P, 'of-a-longer-log')
    await store.redis.hset(`${store.at(P)}of-a-longer-log:meta`, 'checkpoint', 1_000_000)
    const finished = await store.rebuild()
    expect(finished.map(({ is }) => is)).toEqual(['switched', 'switched'])
    expect((await store.names())[P]).not.toBe('of-a-longer-log')
    expect(await store.content()).toEqual(before)
    await store.expectNothingLeft()
  })

  it('refuses a partition of which Redis holds nothing, and fills it when told so', async () => {
    const store = await openProjected()
    const before = await store.content()
    await store.redis.del(`${store.at(0 as Partition)}live`)
    const unchanged = await store.dump()
    await expect(store.rebuild()).rejects.toThrow(RebuildError)
    await expect(store.rebuild()).rejects.toThrow(/nothing of partition 0.*--from-empty/)
    expect(await store.dump()).toEqual(unchanged)
    const finished = await store.rebuild({ fromEmpty: true })
    expect(finished.map(({ is }) => is)).toEqual(['switched', 'switched'])
    expect(await store.content()).toEqual(before)
    await store.expectNothingLeft()
  })

  describe('mends a live generation', () => {
    const mends: [string, (redis: Redis, at: string, name: string) => Promise<unknown>][] = [
      ['whose pointer would expire', (redis, at) => redis.expire(`${at}live`, 1_000)],
      ['whose fold version is no number', (redis, at, name) => redis.hset(`${at}${name}:meta`, 'fold', 'x')],
      ['whose order is of another type', (redis, at, name) => redis.set(`${at}${name}:order`, 'text')],
      [
        'whose checkpoint is no offset',
        (redis, at, name) => redis.hset(`${at}${name}:meta`, 'checkpoint', 'x'),
      ],
    ]
    it.each(mends)('%s', async (_what, harm) => {
      const store = await openProjected()
      const before = await store.content()
      const [name = ''] = await store.names()
      await harm(store.redis, store.at(0 as Partition), name)
      const finished = await store.rebuild({ fromEmpty: true })
      expect(finished.map(({ is }) => is)).toEqual(['switched', 'switched'])
      expect(await store.content()).toEqual(before)
      expect(await store.redis.ttl(`${store.at(0 as Partition)}live`)).toBe(-1)
      await store.expectNothingLeft()
    })
  })
})
