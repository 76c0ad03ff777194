import { randomUUID } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { type FollowedLog, followLog } from '../../../tests/support/followed-log.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { openTransactional } from '../../../tests/support/other-producers.ts'
import type { TestTopic } from '../../../tests/support/topic.ts'
import type { EventId } from '../plant/event-id.ts'
import { offsetOf, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { checkTopic } from './topic.ts'

// The services do not write in transactions, but others may: a control record ends each, and takes an offset.

const WAIT_MS = 20_000
const P = 0 as Partition

async function openLog() {
  const topic = await openTopic()
  const producer = await openTransactional(topic.kafka)
  let lastId = 1_000n

  return {
    ...topic,
    async transact(count: number, end: 'commit' | 'abort'): Promise<void> {
      const messages = Array.from({ length: count }, () => newEvent(++lastId, 1))
      const transaction = await producer.transaction()
      await transaction.send({ topic: topic.topic, messages })
      await transaction[end]()
    },
  }
}

/** Waits until the checkpoint is at `last`, and expects that to be the end of the log. */
async function untilPassed(last: number, { checkpoints }: FollowedLog, topic: TestTopic): Promise<Checkpoint> {
  await vi.waitFor(() => expect(checkpoints.get(P)?.offset).toBe(last), WAIT_MS)
  expect((await checkTopic(topic.kafka, topic)).ends).toEqual([last + 1])
  return checkpoints.get(P) as Checkpoint
}

/** Waits until the log ends at `end`: the control record of a transaction is written after the response to its end. */
async function untilWritten(end: number, topic: TestTopic): Promise<void> {
  const ends = async () => (await checkTopic(topic.kafka, topic)).ends
  await vi.waitFor(async () => expect(await ends()).toEqual([end]), WAIT_MS)
}

describe('a log with transactions of other producers', () => {
  it('is followed up to a control record at its end, without aborted records', async () => {
    const topic = await openLog()
    const [, last] = await topic.append(2) // offsets 0 and 1
    const followed = followLog(topic)
    expect(await untilPassed(1, followed, topic)).toEqual({
      offset: 1,
      eventId: last?.headers.ce_id?.toString(),
    })

    await topic.transact(2, 'commit') // 2, 3 and a control record at 4
    expect(await untilPassed(4, followed, topic)).toEqual({ offset: 4, eventId: '' })
    await topic.transact(3, 'abort') // 5, 6, 7 and 8
    expect(await untilPassed(8, followed, topic)).toEqual({ offset: 8, eventId: '' })
    await topic.append(1) // 9
    await topic.transact(1, 'abort') // 10 and 11
    await topic.transact(1, 'commit') // 12 and 13
    expect(await untilPassed(13, followed, topic)).toEqual({ offset: 13, eventId: '' })

    expect(followed.offsetsOf(P)).toEqual([0, 1, 2, 3, 9, 12])
    expect(followed.halts).toEqual([])
  })

  it.each([
    ['a record', 0],
    ['the control record of a transaction', 2],
    ['an aborted record', 3],
  ])('is followed to its end from a checkpoint at %s that only aborted transactions follow', async (_what, offset) => {
    const topic = await openLog()
    const [first] = await topic.append(1) // 0
    await topic.transact(1, 'abort') // 1 and 2
    await topic.transact(2, 'abort') // 3, 4 and 5
    const eventId = offset === 0 ? (first?.headers.ce_id?.toString() as EventId) : ''
    const followed = followLog(topic, {}, new Map([[P, { offset: offsetOf(offset), eventId }]]))
    expect(await untilPassed(5, followed, topic)).toEqual({ offset: 5, eventId: '' })
    await topic.append(1) // 6
    await untilPassed(6, followed, topic)
    expect(followed.offsetsOf(P)).toEqual([6])
    expect(followed.halts).toEqual([])
  })

  it('is another log when it holds a control record where the checkpoint names an event', async () => {
    const topic = await openLog()
    await topic.transact(1, 'abort') // 0 and 1
    await untilWritten(2, topic)
    const checkpoint = { offset: offsetOf(1), eventId: randomUUID() as EventId }
    const followed = followLog(topic, {}, new Map([[P, checkpoint]]))
    await vi.waitFor(() => expect(followed.halts).not.toEqual([]), WAIT_MS)
    expect(followed.halts[0]).toBeInstanceOf(PreconditionError)
    expect(followed.halts[0]?.message).toMatch(/another log: offset 1 should hold event .*, it holds none/)
  })
})
