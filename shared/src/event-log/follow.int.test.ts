import { expect, it, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { openTransactional } from '../../../tests/support/other-producers.ts'
import { recreateTopic } from '../../../tests/support/recreated-topic.ts'
import { deleteRecords } from '../../../tests/support/topic.ts'
import type { EventId } from '../plant/event-id.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import { allPartitions, type Offset, type Partition } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../protocol/checkpoint.ts'
import { systemTime, type Time } from '../runtime/time.ts'
import { checkTopic } from './topic.ts'

const WAIT_MS = 20_000
const P = 0 as Partition

const eventIdOf = (record: NewRecord | undefined) => record?.headers.ce_id?.toString() as EventId

it('a follower delivers each record once and in the order of its partition, appended before or after the start', async () => {
  const topic = await openTopic(3)
  const before = await topic.append(200)
  const followed = followLog(topic)
  const after = [...(await topic.append(1)), ...(await topic.append(150))]
  await followed.untilAtEnd()

  for (const partition of allPartitions(3)) {
    const appended = [...before, ...after].filter((record) => record.partition === partition)
    const delivered = followed.delivered.filter((call) => call.partition === partition)
    const records = delivered.flatMap((call) => call.records)
    expect(records.map(({ claim }) => claim?.eventId)).toEqual(appended.map(eventIdOf))
    expect(records.map(({ offset }) => offset)).toEqual(appended.map((_, offset) => offset))
    // Each delivery starts where the previous one ended, and ends at its last record.
    expect(delivered.map(({ from }) => from)).toEqual([BEFORE_LOG, ...delivered.slice(0, -1).map(({ next }) => next)])
    const lasts = delivered.map((call) => call.records.at(-1))
    expect(delivered.map(({ next }) => next)).toEqual(
      lasts.map((last) => ({ offset: last?.offset, eventId: last?.claim?.eventId })),
    )
  }
  expect(followed.follower.assigned()).toEqual(followed.checkpoints)
  expect(followed.halts).toEqual([])
})

it('a follower halts when the records that it comes to are deleted', async () => {
  const topic = await openTopic()
  await topic.append(2)
  const [called, deleted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const followed = followLog(topic, {
    async onRecords(_partition, _records, next) {
      called.resolve()
      await deleted.promise
      return next
    },
  })
  await called.promise
  await topic.append(10)
  await deleteRecords(topic, { partition: P, offset: 12 as Offset })
  deleted.resolve()
  await vi.waitFor(() => expect(followed.halts).toMatchObject([{ fault: 'topic-truncated' }]), WAIT_MS)
})

it('the lag of a follower counts the records of all its partitions that are not applied yet', async () => {
  const topic = await openTopic(3)
  await topic.append(40)
  const gate = Promise.withResolvers<void>()
  const followed = followLog(topic, {
    async onRecords(partition, _records, next) {
      await gate.promise
      followed.checkpoints.set(partition, next)
      return next
    },
  })
  const { follower } = followed
  expect(follower.lag()).toBeUndefined()
  await vi.waitFor(() => expect(follower.lag()).toBe(40), WAIT_MS)
  gate.resolve()
  await followed.untilAtEnd()
  await topic.append(10)
  await followed.untilAtEnd()
  expect(follower.lag()).toBe(0)
  // As others read them, while the follower is idle.
  follower.updateEnds([50, 50, 50] as Offset[])
  expect(follower.lag()).toBe(100)
})

it.each([
  ['no fetch is in flight', true],
  ['a fetch waits', false],
])('a topic recreated and filled while %s halts its follower, which applies nothing of it', async (_what, isPaused) => {
  const topic = await openTopic()
  await topic.append(10)
  // As an api's tail: the topic is recreated within the wait of one fetch.
  const { follower, halts, offsetsOf } = followLog(topic, { fetchLimits: { maxWaitTimeInMs: 500 } })
  await vi.waitFor(() => expect(offsetsOf(P)).toHaveLength(10), WAIT_MS)
  if (isPaused) follower.pause()
  await recreateTopic(topic, 30)
  if (isPaused) follower.resume()
  await vi.waitFor(() => expect(halts).not.toEqual([]), WAIT_MS)
  const message = expect.stringMatching(/^another log: the topic had the id \S{22}, it has \S{22}: .*Restore the/)
  expect(halts).toMatchObject([{ name: 'PreconditionError', fault: 'another-log', message }])
  expect(offsetsOf(P)).toHaveLength(10)
})

/** Longer than any other delay of a follower. */
const FETCH_EVERY_MS = 60_000

it('a follower waits after a fetch with records, then fetches all that was appended; a close does not wait', async () => {
  const topic = await openTopic()
  await topic.append(2)
  const waits = new Set<() => void>()
  const after: Time['after'] = (ms, callback) => {
    if (ms !== FETCH_EVERY_MS) return systemTime.after(ms, callback)
    waits.add(callback)
    return () => waits.delete(callback)
  }
  const fetchPace = { records: 1, shortestMs: FETCH_EVERY_MS, longestMs: FETCH_EVERY_MS }
  const slow = followLog(topic, { time: { now: systemTime.now, after }, fetchPace })
  const fast = followLog(topic)
  await vi.waitFor(() => expect(waits.size).toBe(1), WAIT_MS)
  await topic.append(3)
  await vi.waitFor(() => expect(fast.offsetsOf(P)).toHaveLength(5), WAIT_MS)
  expect(slow.offsetsOf(P)).toHaveLength(2)
  for (const end of [...waits]) end()
  waits.clear()
  await vi.waitFor(() => expect(slow.offsetsOf(P)).toEqual(fast.offsetsOf(P)), WAIT_MS)
  await vi.waitFor(() => expect(waits.size).toBe(1), WAIT_MS)
  await slow.follower.close()
  expect(waits.size).toBe(0)
})

// The services do not write in transactions, but others may: a control record ends each, and takes an offset.
it('a log with transactions of others is followed to control records at its end, without aborted records', async () => {
  const topic = await openTopic()
  const producer = await openTransactional(topic.kafka)
  let lastId = 1_000n
  async function transact(count: number, end: 'commit' | 'abort'): Promise<void> {
    const messages = Array.from({ length: count }, () => newEvent(++lastId, 1))
    const transaction = await producer.transaction()
    await transaction.send({ topic: topic.topic, messages })
    await transaction[end]()
  }
  const [, last] = await topic.append(2) // offsets 0 and 1
  const { checkpoints, offsetsOf, halts } = followLog(topic)
  /** Waits until the checkpoint is at the end of the log, with the last record at this offset. */
  async function untilPassed(last: number): Promise<Checkpoint | undefined> {
    await vi.waitFor(() => expect(checkpoints.get(P)?.offset).toBe(last), WAIT_MS)
    expect((await checkTopic(topic.kafka, topic)).ends).toEqual([last + 1])
    return checkpoints.get(P)
  }
  expect(await untilPassed(1)).toEqual({ offset: 1, eventId: eventIdOf(last) })

  await transact(2, 'commit') // 2, 3 and a control record at 4
  expect(await untilPassed(4)).toEqual({ offset: 4, eventId: '' })
  await transact(3, 'abort') // 5, 6, 7 and 8
  expect(await untilPassed(8)).toEqual({ offset: 8, eventId: '' })
  await topic.append(1) // 9
  await transact(1, 'abort') // 10 and 11
  await transact(1, 'commit') // 12 and 13
  expect(await untilPassed(13)).toEqual({ offset: 13, eventId: '' })

  expect([offsetsOf(P), halts]).toEqual([[0, 1, 2, 3, 9, 12], []])
})
