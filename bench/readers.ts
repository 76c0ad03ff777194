import { randomUUID } from 'node:crypto'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { FETCHING } from '@plant-store/shared/event-log/replay.ts'
import { BEFORE_FIRST, type Partition } from '@plant-store/shared/plant/offset.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { createLog } from '@plant-store/shared/process/log.ts'
import { systemTime } from '@plant-store/shared/process/time.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { Kafka, logLevel } from 'kafkajs'
import { createProjector } from '../services/projector/src/projector.ts'

/** What a reader reads and where to; `generation` names the read model that a replay makes, and that nobody else has. */
export type Reading = {
  kafkaBrokers: string
  redisUrl: string
  topic: string
  partitions: number
  events: number
  generation: string
}

/** Reads the whole topic, and calls `begun` when it is given its partitions. */
export type Reader = (reading: Reading, begun: () => void) => Promise<void>

const START: Checkpoint = { offset: BEFORE_FIRST, eventId: '' }
const log = createLog('bench', 'warn')

/** Resolves when so many events were counted. */
function countdown(events: number) {
  const all = Promise.withResolvers<void>()
  let counted = 0
  return {
    all: all.promise,
    fail: all.reject,
    count(more: number): void {
      counted += more
      if (counted >= events) all.resolve()
    },
  }
}

/** A kafkajs consumer as anybody has it, without anything that this project corrects in it, which does nothing. */
const consumeOnly: Reader = async ({ kafkaBrokers, topic, partitions, events }, begun) => {
  const kafka = new Kafka({ brokers: kafkaBrokers.split(','), logLevel: logLevel.NOTHING })
  const { minBytes, maxWaitMs: maxWaitTimeInMs, maxBytesPerPartition, maxBytes } = FETCHING
  const groupId = `bench-${randomUUID()}`
  const consumer = kafka.consumer({ groupId, minBytes, maxWaitTimeInMs, maxBytesPerPartition, maxBytes })
  const { all, count, fail } = countdown(events)
  consumer.on(consumer.events.GROUP_JOIN, begun)
  consumer.on(consumer.events.CRASH, ({ payload }) => fail(payload.error))
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: partitions,
    eachBatch: async ({ batch }) => count(batch.messages.length),
  })
  await all
  await consumer.disconnect()
}

/** Follows the topic as the product does, and makes of each record what the protocol sees in it. */
const decode: Reader = async ({ kafkaBrokers, topic, partitions, events }, begun) => {
  const { all, count, fail } = countdown(events)
  const follower = createFollower({
    ...{ topic, partitions, log, time: systemTime, ...FETCHING, read: recordReader(partitions) },
    kafka: createKafka(kafkaBrokers.split(','), 'bench', log),
    groupId: () => `bench-${randomUUID()}`,
    async checkpointOf() {
      begun()
      return START
    },
    async onRecords(_partition, records, next) {
      count(records.length)
      return next
    },
    onHalt: fail,
  })
  follower.start()
  await all
  await follower.close()
}

/** A projector that finds an empty read model. */
const project: Reader = async ({ kafkaBrokers, redisUrl, topic, partitions, events, generation }, begun) => {
  const { all, count, fail } = countdown(events)
  const readModel = createReadModel({ redisUrl, topic, partitions }, log)
  await readModel.ready()
  const kafka = createKafka(kafkaBrokers.split(','), 'bench', log)
  const groupId = () => `bench-${randomUUID()}`
  const read = recordReader(partitions)
  const projector = createProjector({
    readModel: {
      async meta(partition: Partition) {
        begun()
        return readModel.meta(partition)
      },
      async apply(partition, expected, next, records, fresh) {
        const applied = await readModel.apply(partition, expected, next, records, fresh)
        count(records.length)
        return applied
      },
    },
    follow: (intake) =>
      createFollower({
        topic,
        partitions,
        ...intake,
        kafka,
        log,
        time: systemTime,
        groupId,
        read,
        ...FETCHING,
      }),
    log,
    time: systemTime,
    freshGeneration: () => generation,
    onHalt: fail,
  })
  projector.start()
  await all
  await projector.close()
  await readModel.close()
}

/** By the names that the table has; the first is what the others are compared with. */
export const READERS = {
  'kafkajs alone, doing nothing': consumeOnly,
  'decoded by the follower': decode,
  'replayed into Redis': project,
} satisfies Record<string, Reader>

export type ReaderName = keyof typeof READERS
