import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { openProducer } from '../../../tests/support/other-producers.ts'
import { replayed } from '../../../tests/support/raw-records.ts'
import { COMPACTED_AT_ONCE, createTableTopic, createTestTopic, setTopicConfig } from '../../../tests/support/topic.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import { createAppender } from './append.ts'
import { TABLE } from './topic.ts'

const P = 0 as Partition
const READ_WITHIN_MS = 10_000
const COMPACTED_WITHIN = { timeout: 120_000, interval: 1_000 }

const recordOf = (key: number, bytes: number): NewRecord => ({
  ...{ partition: P, key: Buffer.from(`key ${key}`), value: Buffer.alloc(bytes, 'x'), headers: {} },
})
const batchOf = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => recordOf(first + n, 40_000))

it.each([
  ['whose last records', 0],
  ['whose records', 9],
])(
  'a replay gets past a batch %s Kafka has compacted, though the next one does not fit beside it',
  async (_what, first) => {
    const table = await createTableTopic(await createTestTopic(inject('kafkaBrokers'), 1))
    await setTopicConfig(table, COMPACTED_AT_ONCE)
    const appender = createAppender(table.kafka, table.topic)
    onTestFinished(appender.close)
    async function read(): Promise<Offset[]> {
      const limit = { kind: TABLE, signal: AbortSignal.timeout(READ_WITHIN_MS) }
      const { found } = await replayed(table, ({ offset }) => ({ offset }), limit)
      return found.map(({ offset }) => offset)
    }

    // Kafka keeps the last batch of an idempotent producer, also without records.
    const producer = await openProducer(table.kafka, { idempotent: true, maxInFlightRequests: 1 })
    await producer.send({ topic: table.topic, messages: batchOf(first, 10) })
    await appender.append(batchOf(9, 22))
    const kept = 9 - first
    await vi.waitFor(async () => {
      // Each append ends a segment; only ended ones are compacted.
      await appender.append([recordOf(100, 1)])
      expect((await read()).slice(0, kept + 1)).toEqual([...Array(kept).keys(), kept + 2])
    }, COMPACTED_WITHIN)
  },
)
