import { connect, createServer, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { LogBatch } from '../../../tests/support/generated-logs.ts'
import { listen } from '../../../tests/support/listen.ts'
import { openReadModel } from '../../../tests/support/opened-read-model.ts'
import { startOwnRedis } from '../../../tests/support/own-stores.ts'
import { openRedis } from '../../../tests/support/plant-store.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { batchOf } from '../../../tests/support/small-log.ts'
import { pointerOf } from '../../../tests/support/stored-partition.ts'
import { EntryError } from '../plant/entry.ts'
import type { PlantId } from '../plant/plant.ts'
import { allPartitions, BEFORE_FIRST, type Partition } from '../plant/position.ts'
import { BEFORE_LOG } from '../protocol/checkpoint.ts'
import { createReadModel, type PartitionSpan, type ReadModel } from './read-model.ts'

const PARTITIONS = 3
const P = 0 as Partition
const ID = 7n as PlantId
const WAIT_MS = 20_000

/** A claim of one plant. */
const batchAt = (offset: number) => batchOf(offset, [ID])
const claimOf = ({ records }: LogBatch) => records[0]?.claim

const list = (readModel: ReadModel, spans: readonly PartitionSpan[]) => Promise.all(readModel.listEach(spans))

it('a look-up of several partitions fails as a whole when one cannot be read, unless each is looked up by itself', async () => {
  const { topic, readModel, redis, apply } = await openReadModel()
  const batch = batchAt(0)
  await apply(P, BEFORE_LOG, batch)
  await redis.lpush(pointerOf(topic, 1 as Partition), 'not a pointer')
  const lookUps = [P, 1 as Partition].map((partition) => ({ partition, ids: [ID] }))
  await expect(readModel.lookUp(lookUps)).rejects.toThrow(/WRONGTYPE/)
  const [found, failed] = readModel.lookUpEach(lookUps)
  await expect(failed).rejects.toThrow(/WRONGTYPE/)
  await expect(found).resolves.toEqual({ checkpoint: 0, entries: [claimOf(batch)] })
})

it('an unreadable entry is an EntryError among the entries of a look-up, and fails its span of a list, as a missing one', async () => {
  const { readModel, redis, apply, keyOf } = await openReadModel()
  const batch = batchOf(0, [8n, ID])
  await apply(P, BEFORE_LOG, batch)
  const plants = await keyOf(P, 'plants')
  const span = { partition: P, from: 0, count: 2 }
  await redis.hset(plants, String(ID), 'no entry')
  expect(await readModel.lookUp([{ partition: P, ids: [ID, 8n, 9n] as PlantId[] }])).toEqual([
    { checkpoint: 1, entries: [expect.any(EntryError), claimOf(batch), undefined] },
  ])
  await expect(list(readModel, [span])).rejects.toThrow(EntryError)
  await redis.hdel(plants, String(ID))
  const [failed, other] = readModel.listEach([span, { ...span, count: 1 }])
  await expect(failed).rejects.toThrow(new EntryError(`the read model lists plant ${ID} but has no entry for it`))
  expect((await other)?.claims).toHaveLength(1)
})

it('a Redis that forgets its scripts receives them again, also of several calls at once', async () => {
  // Its own: a command of another test, sent again after one SCRIPT FLUSH, would fail after the next one.
  const { url } = await startOwnRedis()
  const { readModel, redis, apply } = await openReadModel({ redisUrl: url })
  const at = await apply(P, BEFORE_LOG, batchAt(0))
  const first = claimOf(batchAt(0))
  await readModel.lookUp([{ partition: P, ids: [ID] }])
  await readModel.meta(P)

  await redis.script('FLUSH')
  const lookUps = allPartitions(PARTITIONS).map((partition) => ({ partition, ids: [ID] }))
  const found = await readModel.lookUp(lookUps)
  expect(found.map(({ entries }) => entries)).toEqual([[first], [undefined], [undefined]])
  await redis.script('FLUSH')
  const spans = allPartitions(PARTITIONS).map((partition) => ({ partition, from: 0, count: 1 }))
  expect((await list(readModel, spans)).map(({ claims }) => claims)).toEqual([[first], [], []])
  await redis.script('FLUSH')
  await apply(P, at, batchAt(1))
  await redis.script('FLUSH')
  expect(await readModel.meta(P)).toMatchObject({ checkpoint: { offset: 1 }, plants: 1, voids: 1 })
})

describe('a Redis that is gone', () => {
  it('makes every call reject at once, and is used again when it is back on its port', async () => {
    const { url, port, stop } = await startOwnRedis()
    const { readModel, apply } = await openReadModel({ redisUrl: url })
    await apply(P, BEFORE_LOG, batchAt(0))
    await stop()
    await vi.waitFor(() => expect(readModel.isReady()).toBe(false), WAIT_MS)

    // "Stream isn't writeable": it was not even put into a queue.
    const cause = expect.objectContaining({ message: expect.stringMatching(/writeable/) })
    const notQueued = { message: expect.stringMatching(`Redis at ${url}.* is not reachable: check`), cause }
    for (const call of [
      () => readModel.lookUp([{ partition: P, ids: [ID] }]),
      () => readModel.meta(P),
      () => apply(P, BEFORE_LOG, batchAt(0)),
      () => readModel.checkServer(),
    ])
      await expect(call()).rejects.toMatchObject(notQueued)

    await startOwnRedis({ port })
    await vi.waitFor(() => expect(readModel.isReady()).toBe(true), WAIT_MS)
    expect(await readModel.lookUp([{ partition: P, ids: [ID] }])).toEqual([
      { checkpoint: BEFORE_FIRST, entries: [undefined] },
    ])
    await apply(P, BEFORE_LOG, batchAt(0))
  })

  it('is waited for with patience, also by the calls that it has not answered', async () => {
    const { url, crashAndStartAgain } = await startOwnRedis()
    const { readModel, apply } = await openReadModel({ redisUrl: url, patienceMs: WAIT_MS })
    await apply(P, BEFORE_LOG, batchAt(0))

    const restarted = crashAndStartAgain()
    const unanswered = Array.from({ length: 10 }, () => readModel.meta(P))
    await vi.waitFor(() => expect(readModel.isReady()).toBe(false), { timeout: WAIT_MS, interval: 1 })
    const [, sent, ...queued] = await Promise.all([
      restarted,
      readModel.lookUp([{ partition: P, ids: [ID] }]),
      ...unanswered,
    ])
    expect(sent).toEqual([{ checkpoint: BEFORE_FIRST, entries: [undefined] }])
    for (const { checkpoint } of queued) expect([0, BEFORE_FIRST]).toContain(checkpoint.offset)
  })

  const pipe = (redis: Socket, client: Socket) => void client.pipe(redis).pipe(client)
  const end = (_redis: Socket, client: Socket) => void client.end()
  it.each([
    ['without room for another client', 'maxclients', pipe, /Redis has no room for more clients: raise its maxclients/],
    ['that requires a login', 'requirepass', pipe, /Redis requires a login: set REDIS_USERNAME or REDIS_PASSWORD/],
    ['that a proxy does not reach', 'maxclients', end, /is not reachable: check/],
  ])('%s, is reported with the reason although its port is open', async (_what, setting, carry, reason) => {
    const { url, port } = await startOwnRedis()
    const admin = openRedis(url)
    await admin.config('SET', setting, '1')
    // On the same machine the first request may fail before the reply of Redis is read.
    const proxy = createServer((client) => {
      const redis = connect(port, '127.0.0.1')
      for (const socket of [client, redis]) socket.on('error', () => {})
      carry(redis, client)
    })
    const settings = {
      redis: { REDIS_URL: `redis://127.0.0.1:${await listen(proxy)}` },
      topic: 'plants',
      partitions: 1,
    }
    const warn = vi.fn()
    const readModel = createReadModel(settings, { ...quietLog, warn })
    onTestFinished(readModel.close)
    await expect(readModel.ready()).rejects.toThrow(reason)
    // Several attempts to connect.
    await setTimeout(500)
    expect(readModel.problems()).toEqual(['redis: not reachable', expect.stringMatching(reason)])
    expect(warn.mock.calls).toEqual([[expect.anything(), expect.stringMatching(reason)]])
  })
})

it('a Redis that is no longer the master is reconnected when it rejects a write: the address may lead to the new master', async () => {
  const { url } = await startOwnRedis()
  const { readModel, redis, apply } = await openReadModel({ redisUrl: url })
  const last = await apply(P, BEFORE_LOG, batchAt(0))
  const connections = async () => String(await redis.client('LIST')).match(/id=\d+(?=.* name=plant-store )/g)
  const before = await connections()
  await redis.replicaof('127.0.0.1', 1)

  await expect(apply(P, last, batchAt(1))).rejects.toThrow(/READONLY/)
  await vi.waitFor(async () => expect(await connections()).not.toEqual(before), WAIT_MS)

  await redis.replicaof('NO', 'ONE')
  await vi.waitFor(() => expect(readModel.isReady()).toBe(true), WAIT_MS)
  await apply(P, last, batchAt(1))
})
