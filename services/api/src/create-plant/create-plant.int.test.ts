import { type AppendResult, createAppender } from '@plant-store/shared/event-log/append.ts'
import { AppendRefused } from '@plant-store/shared/event-log/broker-errors.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { createLanes } from '@plant-store/shared/event-log/lanes.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { EntryError } from '@plant-store/shared/plant/entry.ts'
import { keyedEventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { followLog, followOptions } from '../../../../tests/support/followed-log.ts'
import { newPlant } from '../../../../tests/support/generated-plants.ts'
import { newEvent, newEventId } from '../../../../tests/support/new-events.ts'
import { openReadModel } from '../../../../tests/support/opened-read-model.ts'
import { startOwnKafka } from '../../../../tests/support/own-stores.ts'
import { openRedis } from '../../../../tests/support/plant-store.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { pointerOf } from '../../../../tests/support/stored-partition.ts'
import { createTestTopic, type TestTopic } from '../../../../tests/support/topic.ts'
import { createClaimIndex } from '../claim-index/claim-index.ts'
import { CREATE_LIMITS, type CreatePlant, createPlantCreation, type Outcome } from './create-plant.ts'

const PARTITIONS = 3
const WAIT_MS = 20_000
const WINDOW_BYTES = 64 * 1_048_576
const DEADLINE_MS = 10_000
const BYTES_OF_ONE = 200 + '1000'.length + '{"id":"1000","name":"plant 1000"}'.length

const REFUSED: AppendResult = { is: 'refused', why: 'transient', cause: new AppendRefused('too few replicas') }
type Batches = [Partition, readonly NewRecord[]][]

/** The creation of an api on a separate topic: read model, appender, claim index and tail; no projector. */
async function openCreation({
  kafkaBrokers = inject('kafkaBrokers'),
  deadlineMs = DEADLINE_MS,
  limits = {} as Partial<typeof CREATE_LIMITS>,
} = {}) {
  const topic = await createTestTopic(kafkaBrokers, PARTITIONS)
  const { readModel } = await openReadModel(topic)
  const checkpoints = new Map(allPartitions(PARTITIONS).map((partition) => [partition, BEFORE_LOG]))
  const { ends, topicId } = await checkTopic(topic.kafka, topic)
  const verdictsBy: string[] = []
  const onHalt = (error: Error) => expect.unreachable(error.message)
  const common = { log: quietLog, time: systemTime }
  const claimIndex = createClaimIndex({
    ...{ ...common, readModel, checkpoints, ends, windowMaxBytes: WINDOW_BYTES, onHalt },
    follow: (sink) => createFollower({ ...followOptions(topic), ...sink }),
  })
  const { tail } = claimIndex
  tail.start()
  const appender = createAppender(topic.kafka, topic.topic, topicId)
  await appender.connect()
  const appends = { started: 0, ended: 0 }
  /** Their appends are refused, as with too few in-sync replicas. */
  const unwritable = new Set<Partition>()
  /** Their look-ups fail, as while a slot of a Redis Cluster moves. */
  const unreadable = new Set<Partition>()
  const counted = {
    ...appender,
    async send(...sent: Parameters<typeof appender.send>) {
      appends.started++
      const [leader, channel, batches, signal] = sent
      const [refused, others] = [true, false].map((isRefused) =>
        [...batches].filter(([partition]) => unwritable.has(partition) === isRefused),
      ) as [Batches, Batches]
      const results = others.length === 0 ? [] : await appender.send(leader, channel, new Map(others), signal)
      appends.ended++
      return new Map([...results, ...refused.map(([partition]) => [partition, REFUSED] as const)])
    },
  }
  const faultyReadModel = {
    lookUpEach: (requests: Parameters<typeof readModel.lookUpEach>[0]) =>
      readModel.lookUpEach(requests).map(async (found, n) => {
        if (unreadable.has(requests[n]?.partition as Partition)) throw new Error('ASK')
        return await found
      }),
  }
  const lanes = createLanes({ ...common, appender: counted, partitions: PARTITIONS })
  const creation = createPlantCreation(faultyReadModel, lanes, claimIndex, {
    ...common,
    deadlineMs,
    limits: { ...CREATE_LIMITS, ...limits },
    onVerdict: (_waitedMs, by) => verdictsBy.push(by),
  })
  onTestFinished(async () => {
    await creation.close()
    await Promise.all([appender.close(), claimIndex.close()])
  })
  await vi.waitFor(() => expect(tail.assigned()?.size).toBe(PARTITIONS), WAIT_MS)
  const random = (id: bigint) => ({ plant: newPlant(id), eventId: newEventId(), keyed: false })
  const keyed = (id: bigint, key: string) => ({
    plant: newPlant(id),
    eventId: keyedEventId('tests', key, newPlant(id)),
    keyed: true,
  })
  const create = async (created: CreatePlant) => (await creation.create(created)).is
  return {
    ...{ ...topic, appends, unwritable, unreadable, verdictsBy, tail, creation, create, random, keyed },
  }
}

/** The event ids of all claims in the log, in log order. */
async function eventIdsInLog({ kafka, topic, partitions }: TestTopic) {
  const followed = followLog({ kafka, topic, partitions })
  await followed.untilAtEnd()
  return followed.delivered.flatMap(({ records }) => records.map(({ claim }) => claim?.eventId))
}

const kindsOf = (outcomes: readonly Outcome[]) => outcomes.map(({ is }) => is)

it('creates are queued up to maxQueuedBytes; the rest resolve at once as not written', async () => {
  const store = await openCreation({ limits: { maxQueuedBytes: 500 * (BYTES_OF_ONE - 3) } })
  const outcomes = await Promise.all(
    Array.from({ length: 550 }, (_, n) => store.creation.create(store.random(BigInt(100 + n)))),
  )
  expect(kindsOf(outcomes)).toEqual([...Array(500).fill('created'), ...Array(50).fill('notWritten')])
  expect(await eventIdsInLog(store)).toHaveLength(500)
  expect(await store.create(store.random(1n))).toBe('created')
})

it.each([
  ['written', 'maxQueuedBytes', 1_000 * BYTES_OF_ONE],
  ['written', 'maxQueuedRecords', 1_000],
  ['looked up', 'maxQueuedBytes', 1_000 * BYTES_OF_ONE],
])('a partition that cannot be %s leaves the others half of %s', async (what, limit, max) => {
  const store = await openCreation({ limits: { [limit]: max, maxQueueAgeMs: 2 * WAIT_MS } })
  const all = Array.from({ length: 3_000 }, (_, n) => store.random(BigInt(1_000 + n)))
  const byPartition = Map.groupBy(all, ({ plant, eventId }) => plantCreated(plant, eventId, PARTITIONS).partition)
  const [plants = [], ...others] = allPartitions(PARTITIONS).map((p) => byPartition.get(p) ?? [])
  const failing = what === 'written' ? store.unwritable : store.unreadable
  failing.add(0 as Partition)
  const create = (creates: typeof all) => creates.map((each) => store.creation.create(each))
  const waiting = create(plants.splice(0, 500))
  await vi.waitFor(async () => {
    const [next] = create(plants.splice(0, 1))
    waiting.push(next as Promise<Outcome>)
    expect(await Promise.race([next, new Promise((r) => setImmediate(r))])).toEqual({ is: 'notWritten' })
  }, WAIT_MS)
  const outcomes = await Promise.all(others.flatMap((writable) => create(writable.slice(0, 200))))
  expect(kindsOf(outcomes)).toEqual(Array(400).fill('created'))
  failing.clear()
  expect(kindsOf(await Promise.all(waiting.slice(0, 500)))).toEqual(Array(500).fill('created'))
})

it('the acknowledgement of an append decides without the tail while no other producer writes', async () => {
  const store = await openCreation()
  await store.tail.close()
  const ids = Array.from({ length: 20 }, (_, n) => BigInt(n))
  const createAll = () => Promise.all(ids.map((id) => store.create(store.random(id))))
  expect(new Set(await createAll())).toEqual(new Set(['created']))
  expect(new Set(await createAll())).toEqual(new Set(['duplicate']))
  expect(store.verdictsBy).toEqual(ids.map(() => 'acknowledgement'))
  expect(await eventIdsInLog(store)).toHaveLength(20)
})

it('beside an unreadable entry, nothing is written for its id, and the others of the same cycle are created', async () => {
  const store = await openCreation()
  const redis = openRedis()
  const { partition } = newEvent(1n, PARTITIONS)
  const pointer = pointerOf(store.topic, partition)
  const generation = pointer.replace('live', 'odd')
  await redis.hset(`${generation}:meta`, { checkpoint: -1, fold: 1, partitions: PARTITIONS })
  await redis.hset(`${generation}:plants`, '1', 'no entry')
  await redis.set(pointer, 'odd')

  const ids = Array.from({ length: 12 }, (_, n) => BigInt(n + 1))
  const outcomes = await Promise.all(ids.map((id) => store.creation.create(store.random(id))))
  expect(outcomes[0]).toEqual({ is: 'notWritten', cause: expect.any(EntryError) })
  expect(new Set(kindsOf(outcomes.slice(1)))).toEqual(new Set(['created']))
  expect(await eventIdsInLog(store)).toHaveLength(ids.length - 1)
})

it('creating a plant while Kafka hangs resolves at the deadline, or at once behind one that is older than maxQueueAgeMs; a keyed retry gets the verdict', async () => {
  const { brokers: kafkaBrokers, pause, resume } = await startOwnKafka()
  // Less than the 5 s after which the append would be given up, and the next one sent.
  const store = await openCreation({ kafkaBrokers, deadlineMs: 3_000 })
  const untilCreated = ({ create }: typeof store, created: CreatePlant) =>
    vi.waitFor(async () => expect(await create(created)).toBe('created'), WAIT_MS)
  // The first append of a broker may take longer than the others.
  await untilCreated(store, store.keyed(0n, 'first'))
  // The tail may deliver the verdict before Kafka acknowledges the append.
  await vi.waitFor(() => expect(store.appends.ended).toBe(store.appends.started), WAIT_MS)
  await pause()

  const { started } = store.appends
  const appended = store.create(store.keyed(1n, 'k'))
  await vi.waitFor(() => expect(store.appends.started).toBe(started + 1), WAIT_MS)
  // These wait in the queue behind the append that hangs.
  const queuedBehind = [store.random(2n), store.random(1n), store.keyed(3n, 'another key')]
  expect(await Promise.all(queuedBehind.map(store.create))).toEqual(['notWritten', 'notWritten', 'notWritten'])
  expect(await appended).toBe('outcomeUnknown')

  await resume()
  await untilCreated(store, store.keyed(1n, 'k'))
  const eventIds = await eventIdsInLog(store)
  expect(eventIds).toContain(store.keyed(1n, 'k').eventId)
  // The creates that resolved as not written are not in the log.
  expect(new Set(eventIds).size).toBe(2)

  const limited = await openCreation({ kafkaBrokers, deadlineMs: 30_000, limits: { maxQueueAgeMs: 3_000 } })
  await pause()
  const oldest = limited.create(limited.random(0n))
  await vi.waitFor(() => expect(limited.appends.started).toBe(1), WAIT_MS)
  const queued = limited.create(limited.random(1n))
  let next = 2n
  const atOnce = () =>
    Promise.race([limited.create(limited.random(next++)), new Promise((resolve) => setImmediate(resolve))])
  expect(await atOnce()).toBeUndefined()
  await vi.waitFor(async () => expect(await atOnce()).toBe('notWritten'), WAIT_MS)

  await resume()
  expect(await Promise.all([oldest, queued])).toEqual(['created', 'created'])
  // The broker may lead its partitions a moment later; until then, creates may wait behind older ones.
  await untilCreated(limited, limited.keyed(next, 'last'))
})
