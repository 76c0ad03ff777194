import { randomUUID } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import {
  appendCompressed,
  appendUndecodable,
  compressedEvents,
  compressedRecords,
  keepCompression,
} from '../../../tests/support/compressed-records.ts'
import { followLog } from '../../../tests/support/followed-log.ts'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { startOwnKafka } from '../../../tests/support/own-stores.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import type { TestTopic } from '../../../tests/support/topic.ts'
import type { EventId } from '../plant/event-id.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import { allPartitions, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../protocol/checkpoint.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import { checkTopic } from './topic.ts'

const WAIT_MS = 20_000
const P = 0 as Partition

const eventIdOf = (record: NewRecord | undefined) => record?.headers.ce_id?.toString() as EventId
const upTo = (end: number) => Array.from({ length: end }, (_, offset) => offset)

async function endsOf({ kafka, topic, partitions }: TestTopic): Promise<Offset[]> {
  return (await checkTopic(kafka, { topic, partitions })).ends
}

describe('following a log', () => {
  it('delivers each record once and in the order of its partition, appended before or after the start', async () => {
    const topic = await openTopic(3)
    const before = await topic.append(200)
    const followed = followLog(topic)
    const after = [...(await topic.append(1)), ...(await topic.append(150))]
    await followed.untilAtEnd()

    for (const partition of allPartitions(3)) {
      const appended = [...before, ...after].filter((record) => record.partition === partition)
      const delivered = followed.delivered.filter((call) => call.partition === partition)
      expect(delivered.flatMap(({ records }) => records.map(({ claim }) => claim?.eventId))).toEqual(
        appended.map(eventIdOf),
      )
      expect(followed.offsetsOf(partition)).toEqual(upTo(appended.length))
      // Each delivery starts where the previous one ended, and ends at its last record.
      expect(delivered.map(({ from }) => from)).toEqual([BEFORE_LOG, ...delivered.slice(0, -1).map(({ next }) => next)])
      for (const { records, next } of delivered) {
        expect(next).toEqual({ offset: records.at(-1)?.offset, eventId: records.at(-1)?.claim?.eventId })
      }
    }
    expect(followed.follower.assigned()).toEqual(followed.checkpoints)
    expect(followed.halts).toEqual([])
  })

  it('continues after a checkpoint', async () => {
    const topic = await openTopic()
    const records = await topic.append(10)
    const checkpoint: Checkpoint = { offset: offsetOf(6), eventId: eventIdOf(records[6]) }
    const followed = followLog(topic, {}, new Map([[P, checkpoint]]))
    await followed.untilAtEnd()
    expect(followed.offsetsOf(P)).toEqual([7, 8, 9])
    expect(followed.delivered.find(({ records }) => records.length > 0)?.from).toEqual(checkpoint)
  })

  it('seeks to the checkpoint that the sink returns, backward or forward', async () => {
    const topic = await openTopic()
    const records = await topic.append(10)
    const at = (offset: number): Checkpoint => ({
      offset: offsetOf(offset),
      eventId: eventIdOf(records[offset]),
    })
    const returned = [at(3), BEFORE_LOG, at(7)]
    const deliveries: [number, number[]][] = []
    const followed = followLog(topic, {
      async onRecords(partition, found, next, from) {
        deliveries.push([from.offset, found.map(({ offset }) => offset)])
        const reached = returned.shift() ?? next
        followed.checkpoints.set(partition, reached)
        return reached
      },
    })
    await vi.waitFor(() => expect(deliveries).toHaveLength(4), WAIT_MS)
    await followed.untilAtEnd()
    expect(deliveries).toEqual([
      [-1, upTo(10)],
      [3, [4, 5, 6, 7, 8, 9]],
      [-1, upTo(10)],
      [7, [8, 9]],
    ])
  })

  it('reads batches that other producers compressed, with any codec', async () => {
    const topic = await openTopic()
    await keepCompression(topic)
    for (const one of compressedRecords) await appendCompressed(topic.topic, P, one)
    const followed = followLog(topic)
    await followed.untilAtEnd()
    expect(followed.offsetsOf(P)).toEqual(upTo(compressedRecords.length * compressedEvents.length))
    expect(followed.halts).toEqual([])
  })

  it('waits at a batch that cannot be decoded, and reads the other partitions', async () => {
    const topic = await openTopic(2)
    await keepCompression(topic)
    await topic.append(20)
    const [damaged, other] = [0 as Partition, 1 as Partition]
    const offset = (await endsOf(topic))[damaged] as Offset
    await appendUndecodable(topic.topic, damaged)
    await topic.append(20)
    const followed = followLog(topic)
    await vi.waitFor(() => expect(followed.follower.undecodable()).toEqual([{ partition: damaged, offset }]), WAIT_MS)
    await topic.append(20)
    const end = (await endsOf(topic))[other] as Offset
    await vi.waitFor(() => expect(followed.offsetsOf(other)).toEqual(upTo(end)), WAIT_MS)
    expect(followed.offsetsOf(damaged)).toEqual(upTo(offset))
    expect(followed.follower.undecodable()).toEqual([{ partition: damaged, offset }])
    expect([followed.follower.problems(), followed.halts]).toEqual([[], []])
  })

  it('reloads checkpoints on request, also while no records arrive', async () => {
    const topic = await openTopic()
    await topic.append(4)
    const followed = followLog(topic)
    await followed.untilAtEnd()
    const seen = followed.follower.assigned()?.get(P) as Checkpoint

    followed.checkpoints.clear()
    followed.follower.reloadCheckpoints(new Map([[P, seen]]))
    await followed.untilAtEnd()
    expect(followed.offsetsOf(P)).toEqual([...upTo(4), ...upTo(4)])

    // A checkpoint that is out of date changes nothing.
    followed.follower.reloadCheckpoints(new Map([[P, seen]]))
    await topic.append(1)
    await followed.untilAtEnd()
    expect(followed.offsetsOf(P)).toEqual([...upTo(4), ...upTo(5)])
  })
})

describe('following a log while its broker hangs', () => {
  it('continues when the broker does', async () => {
    const { brokers, pause, resume } = await startOwnKafka()
    const topic = await openTopic(1, brokers)
    await topic.append(3)
    const warnings: string[] = []
    const log = {
      ...quietLog,
      debug() {},
      info() {},
      warn: (_: unknown, text?: string) => warnings.push(String(text)),
    }
    const kafka = createImpatientKafka(brokers)
    const followed = followLog({ ...topic, kafka }, { log: log as unknown as Log })
    await followed.untilAtEnd()
    await pause()
    // Longer than the retries of kafkajs: a consumer has ended, and so has the next one.
    await vi.waitFor(() => expect(warnings.length).toBeGreaterThanOrEqual(3), WAIT_MS)
    await resume()
    // The broker leads the partition again a little later; until then it refuses the records.
    await vi.waitFor(() => topic.append(2), WAIT_MS)
    await followed.untilAtEnd()
    expect(followed.offsetsOf(P)).toEqual(upTo(5))
    expect(followed.halts).toEqual([])
  })
})

describe('following halts', () => {
  it('when the log holds another event at the checkpoint', async () => {
    const topic = await openTopic()
    const records = await topic.append(3)
    const other = randomUUID() as EventId
    const followed = followLog(topic, {}, new Map([[P, { offset: offsetOf(1), eventId: other }]]))
    await vi.waitFor(() => expect(followed.halts).not.toEqual([]), WAIT_MS)
    expect(followed.halts[0]).toBeInstanceOf(PreconditionError)
    const found = `offset 1 should hold event ${other}, it holds ${eventIdOf(records[1])} (partition 0)`
    expect(followed.halts[0]?.message).toBe(
      `another log: ${found}: the topic was recreated or lost its end, or REDIS_URL points to the read model of ` +
        'another topic. Restore the topic, or correct REDIS_URL and PLANTS_TOPIC, or, if both are correct, ' +
        'delete the keys of this topic in Redis: they are rebuilt from the log',
    )
    expect(followed.delivered).toEqual([])
  })

  it('when the log ends before the checkpoint', async () => {
    const topic = await openTopic()
    await topic.append(3)
    const beyond: Checkpoint = { offset: offsetOf(3), eventId: '' }
    const followed = followLog(topic, {}, new Map([[P, beyond]]))
    await vi.waitFor(() => expect(followed.halts).not.toEqual([]), WAIT_MS)
    expect(followed.halts[0]).toBeInstanceOf(PreconditionError)
    expect(followed.halts[0]?.message).toMatch(/another log: .* passed offset 3, but the log ends before offset 3/)
    expect(followed.delivered).toEqual([])
  })

  it('when the sink throws a PreconditionError', async () => {
    const topic = await openTopic()
    await topic.append(1)
    const failure = new PreconditionError('a wrong setting')
    const followed = followLog(topic, { onRecords: () => Promise.reject(failure) })
    await vi.waitFor(() => expect(followed.halts).toEqual([failure]), WAIT_MS)
  })
})
