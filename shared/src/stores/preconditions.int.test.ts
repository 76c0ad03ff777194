import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { deleteTopic } from '../../../tests/support/backups.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { startOwnKafka } from '../../../tests/support/own-stores.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { recreateTopic } from '../../../tests/support/recreated-topic.ts'
import { createTestTopic, setPartitions } from '../../../tests/support/topic.ts'
import { createAppender } from '../event-log/append.ts'
import { checkTopic } from '../event-log/topic.ts'
import { DEFAULT_SOURCE } from '../plant/plant-created.ts'
import { type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { createReadModel } from '../read-model/read-model.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { systemTime, type Time } from '../runtime/time.ts'
import { watchPreconditions } from './preconditions.ts'

const WAIT = { timeout: 30_000 }
/** 30 s of it pass in 300 ms. */
const fastTime: Time = {
  now: () => systemTime.now() * 100,
  after: (ms, callback) => systemTime.after(ms / 100, callback),
}

/** A topic with one partition and ten events, which the reader of the watch has passed. */
async function openPassedTopic(kafkaBrokers = inject('kafkaBrokers')) {
  const topic = await createTestTopic(kafkaBrokers, 1)
  const appender = createAppender(topic.kafka, topic.topic)
  await appender.append(Array.from({ length: 10 }, (_, n) => newEvent(BigInt(n), 1)))
  const readModel = createReadModel({ redis: { REDIS_URL: inject('redisUrl') }, ...topic }, quietLog)
  await readModel.ready()
  const [halts, ends] = [[] as Error[], [] as Offset[][]]
  const passed = () => new Map([[0 as Partition, { offset: offsetOf(9), eventId: '' as const }]])
  const updateEnds = (found: readonly Offset[]) => void ends.push([...found])
  const common = { time: fastTime, log: quietLog, onHalt: (error: Error) => void halts.push(error) }
  const { topicId } = await checkTopic(topic.kafka, topic)
  const reading = { topicId, passed, updateEnds }
  const stores = { ...topic, table: undefined, source: DEFAULT_SOURCE, readModel, close: readModel.close }
  onTestFinished(async () => {
    await Promise.all([appender.close(), readModel.close()])
  })
  return {
    ...topic,
    watch() {
      const { problems, close } = watchPreconditions(stores, 'api', reading, common)
      onTestFinished(close)
      return { problems }
    },
    async expectFirstLook(): Promise<void> {
      await vi.waitFor(() => expect(ends).not.toEqual([]), WAIT)
      expect([ends[0], halts]).toEqual([[10], []])
    },
    async expectHalt(message: RegExp): Promise<void> {
      await vi.waitFor(() => expect(halts).not.toEqual([]), WAIT)
      expect(halts).toEqual([expect.any(PreconditionError)])
      expect(halts[0]?.message).toMatch(message)
    },
  }
}

/** The same, watched, and nothing is wrong with it yet. */
async function watchTopic(kafkaBrokers?: string) {
  const topic = await openPassedTopic(kafkaBrokers)
  const { problems } = topic.watch()
  await topic.expectFirstLook()
  return { ...topic, problems }
}

describe('the watch of the preconditions ends the service, also without new events, for', () => {
  // The watch starts afterwards: a look in between would find no topic, or an empty one.
  it.each([
    ['fewer', 5, /another log: .* passed offset 9, but the log ends before offset 5 .* delete the keys/],
    ['more', 20, /another log: the topic had the id \S{22}, it has \S{22}: .* delete the keys/],
  ])('a recreated topic with %s records than the reader has passed', async (_than, records, message) => {
    const topic = await openPassedTopic()
    await recreateTopic(topic, records)
    topic.watch()
    await topic.expectHalt(message)
  })

  it('a deleted topic, which is named before', async () => {
    const topic = await watchTopic()
    await deleteTopic(topic)
    const named =
      'kafka: Kafka does not know the topic (UNKNOWN_TOPIC_OR_PARTITION): check that it exists ' +
      'and that this user may describe it'
    await vi.waitFor(() => expect(topic.problems()).toEqual([named]), WAIT)
    await topic.expectHalt(/does not exist: if it was deleted, restore it: \S+\. Else create it with 1 partitions/)
  })

  // topic.int shows what else a look finds.
  it('a topic with an added partition', async () => {
    const topic = await watchTopic()
    await setPartitions(topic, 2)
    await topic.expectHalt(/has 2 partitions, but PLANTS_PARTITIONS is 1/)
  })
})

it('a Kafka that hangs is a problem until it responds again', async () => {
  const kafka = await startOwnKafka()
  const { problems } = await watchTopic(kafka.brokers)
  await vi.waitFor(() => expect(problems()).toEqual([]), WAIT)
  await kafka.pause()
  await vi.waitFor(() => expect(problems().join()).toMatch(/kafka: no response for \d+ s/), WAIT)
  await kafka.resume()
  await vi.waitFor(() => expect(problems()).toEqual([]), WAIT)
})
