import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewRecord, PARKED, plantCreated, recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { openRedis } from '../../../tests/support/plant-store.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { asStored, pointerOf, readStoredPartition } from '../../../tests/support/stored-partition.ts'
import { createTestTopic } from '../../../tests/support/topic.ts'
import { createProjector } from './projector.ts'

const PARTITIONS = 2
const WAIT_MS = 30_000

async function openStore() {
  const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const redis = openRedis(inject('redisUrl'))
  const readModel = createReadModel({ redis: { REDIS_URL: inject('redisUrl') }, ...topic }, quietLog)
  await readModel.ready()
  const appender = createAppender(topic.kafka, topic.topic)
  await appender.connect()
  onTestFinished(async () => {
    await Promise.all([appender.close(), readModel.close()])
  })
  const ends = async () => (await checkTopic(topic.kafka, topic)).ends
  return {
    topic,
    redis,
    readModel,
    append: appender.append,

    startProjector() {
      const halts: Error[] = []
      const quietly = { log: quietLog, time: systemTime }
      const groupId = () => `${topic.topic}-projector`
      const read = recordReader(topic.partitions)
      const projector = createProjector({
        readModel,
        follow: (sink) => createFollower({ ...topic, ...sink, ...quietly, groupId, read, minBytes: 1, maxWaitMs: 20 }),
        ...quietly,
        freshGeneration: randomUUID,
        onHalt: (error) => halts.push(error),
      })
      onTestFinished(() => projector.close())
      projector.start()
      return { projector, halts }
    },

    async untilProjected(): Promise<void> {
      const expected = await ends()
      await vi.waitFor(async () => {
        const metas = await Promise.all(allPartitions(PARTITIONS).map((partition) => readModel.meta(partition)))
        expect(metas.map(({ checkpoint }) => checkpoint.offset + 1)).toEqual(expected)
      }, WAIT_MS)
    },

    /** Compares all of Redis with the fold of the log, read apart from the projector. */
    async expectFoldOfLog(): Promise<void> {
      const expected = await ends()
      const followed = followLog(topic)
      await vi.waitFor(() => {
        const passed = allPartitions(PARTITIONS).map((p) => (followed.checkpoints.get(p)?.offset ?? -1) + 1)
        expect(passed).toEqual(expected)
      }, WAIT_MS)
      for (const partition of allPartitions(PARTITIONS)) {
        const records = followed.delivered.flatMap((call) => (call.partition === partition ? call.records : []))
        const state = fold(emptyPartition(), records)
        const stored = await readStoredPartition(redis, topic.topic, partition)
        expect(stored).toEqual(asStored(state, followed.checkpoints.get(partition) as Checkpoint, PARTITIONS))
      }
    },
  }
}

const eventOf = (id: bigint) => plantCreated(newPlant(id), randomUUID() as EventId, PARTITIONS)

/** Events of a few ids: some repeated, some unreadable, some foreign. */
function mixedEvents(count: number, ids: number): NewRecord[] {
  return Array.from({ length: count }, (_, n) => eventOf(BigInt(n % ids))).flatMap((event, n) => {
    if (n % 7 === 0) return [event, event]
    if (n % 11 === 0) return [{ ...event, value: Buffer.from('{') }]
    if (n % 13 === 0) return [{ ...event, headers: {} }]
    return [event]
  })
}

describe('the projector', () => {
  it('brings the read model to the fold of the log, and keeps it there', async () => {
    const store = await openStore()
    // More than one call of the script applies.
    await store.append(mixedEvents(1_500, 900))
    const { projector, halts } = store.startProjector()
    await store.untilProjected()
    await store.expectFoldOfLog()
    await store.append(mixedEvents(40, 40))
    await store.untilProjected()
    await store.expectFoldOfLog()
    expect(projector.problems()).toEqual([])
    expect(halts).toEqual([])
  })

  it('counts parked records by reason', async () => {
    const store = await openStore()
    const event = eventOf(1n)
    await store.append([{ ...event, headers: {} }, { ...event, value: Buffer.from('{') }, event])
    store.startProjector()
    await store.untilProjected()
    const { parked } = await readStoredPartition(store.redis, store.topic.topic, event.partition)
    expect([...parked.values()]).toEqual([PARKED.otherType, PARKED.unreadablePayload])
    expect(await store.readModel.meta(event.partition)).toMatchObject({ plants: 1, parked: 2, voids: 0 })
  })

  it('refills an emptied Redis without a new event', async () => {
    const store = await openStore()
    await store.append(mixedEvents(100, 60))
    store.startProjector()
    await store.untilProjected()
    await store.redis.del(await store.redis.keys(`{${store.topic.topic}:*`))
    await store.untilProjected()
    await store.expectFoldOfLog()
  })

  it('reports a problem while it cannot compare checkpoints', async () => {
    const store = await openStore()
    await store.append(mixedEvents(20, 20))
    const { projector, halts } = store.startProjector()
    await store.untilProjected()
    const pointer = pointerOf(store.topic.topic, 0 as Partition)
    const live = (await store.redis.get(pointer)) as string
    await store.redis.multi().del(pointer).lpush(pointer, 'no pointer').exec()
    await vi.waitFor(
      () => expect(projector.problems()).toEqual([expect.stringMatching(/^comparing checkpoints: .*WRONGTYPE/)]),
      WAIT_MS,
    )
    await store.redis.set(pointer, live)
    await vi.waitFor(() => expect(projector.problems()).toEqual([]), WAIT_MS)
    await store.expectFoldOfLog()
    expect(halts).toEqual([])
  })

  it('continues from the checkpoint to which Redis has fallen back', async () => {
    const store = await openStore()
    await store.append(mixedEvents(50, 30))
    store.startProjector()
    await store.untilProjected()
    const keys = await store.redis.keys(`{${store.topic.topic}:*`)
    const snapshot = await Promise.all(keys.map(async (key) => [key, await store.redis.dumpBuffer(key)] as const))
    await store.append(mixedEvents(50, 50))
    await store.untilProjected()
    await Promise.all(snapshot.map(([key, dump]) => store.redis.restore(key, 0, dump, 'REPLACE')))
    await store.untilProjected()
    await store.expectFoldOfLog()
  })

  it('does no harm next to one of another group, on the same partitions', async () => {
    const store = await openStore()
    await store.append(mixedEvents(600, 400))
    const zombie = followLog(store.topic, {
      checkpointOf: async (partition) => (await store.readModel.meta(partition)).checkpoint,
      async onRecords(partition, records, next, from) {
        const applied = await store.readModel.apply(partition, from, next, records, randomUUID())
        return applied.is === 'stale' ? applied.checkpoint : next
      },
    })
    const { halts } = store.startProjector()
    for (let n = 0; n < 10; n++) await store.append(mixedEvents(60, 500))
    await store.untilProjected()
    await store.expectFoldOfLog()
    expect([...halts, ...zombie.halts]).toEqual([])
  })

  it('halts when a newer release has taken over the read model', async () => {
    const store = await openStore()
    await store.append([eventOf(1n), eventOf(2n), eventOf(3n), eventOf(4n)])
    const { halts } = store.startProjector()
    await store.untilProjected()
    const partition = eventOf(1n).partition as Partition
    const live = await store.redis.get(pointerOf(store.topic.topic, partition))
    await store.redis.hset(`{${store.topic.topic}:${partition}}:${live}:meta`, 'fold', '2')
    await vi.waitFor(() => expect(halts).not.toEqual([]), WAIT_MS)
    expect(halts[0]).toBeInstanceOf(PreconditionError)
    expect(halts[0]?.message).toMatch(/newer release/)
  })
})
