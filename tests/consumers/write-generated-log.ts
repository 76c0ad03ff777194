import { randomUUID } from 'node:crypto'
import type { Producer, Transaction } from 'kafkajs'
import { messageOf } from '../support/corpus.ts'
import type { TestTopic } from '../support/topic.ts'
import type { GeneratedLog, Step, Writer } from './generated-log.ts'

const ACKS_ALL = -1

/** Writes the steps one after another: in each partition the records lie in their order. */
export async function writeGeneratedLog({ steps }: GeneratedLog, { kafka, topic }: TestTopic): Promise<void> {
  const once = { maxInFlightRequests: 1, allowAutoTopicCreation: false, retry: { retries: 0 } }
  const transactional = { ...once, idempotent: true, retry: { retries: 5 } }
  const producers: Record<Writer, Producer> = {
    plain: kafka.producer(once),
    first: kafka.producer({ ...transactional, transactionalId: randomUUID() }),
    second: kafka.producer({ ...transactional, transactionalId: randomUUID() }),
  }
  await Promise.all(Object.values(producers).map((producer) => producer.connect()))
  const open = new Map<Writer, Transaction>()

  async function take(step: Step): Promise<void> {
    if (step.do !== 'write') {
      await open.get(step.by)?.[step.do]()
      open.delete(step.by)
      return
    }
    if (step.by !== 'plain' && !open.has(step.by)) open.set(step.by, await producers[step.by].transaction())
    const writer = open.get(step.by) ?? producers[step.by]
    await writer.send({ topic, acks: ACKS_ALL, messages: step.records.map(messageOf) })
  }

  try {
    for (const step of steps) await take(step)
  } finally {
    await Promise.all(Object.values(producers).map((producer) => producer.disconnect()))
  }
}
