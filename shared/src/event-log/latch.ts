import type { Kafka } from 'kafkajs'
import { isOfType } from './broker-errors.ts'
import { type Configuration, createConfigured, MAX_BATCH, type TopicSettings } from './topic-configuration.ts'

// A topic that is being restored has a latch: a setting that both services refuse. Half a log with an empty read model
// would let the api create plants again that the other half has. To set its own configuration lifts the latch.

/** Keeps records forever, as the required -1 does, but is not the required text. */
const LATCH = ['retention.ms', '9223372036854775807'] as const
/** Less than the greatest: Kafka 3.6 to 3.9 takes that as unset, and then applies the older limit. */
const UNLIMITED_MS = '9223372036854775806'
/** Records keep the times that they had. */
const TIME_LIMITS = ['message.timestamp.before.max.ms', 'message.timestamp.after.max.ms']
const TIME_LIMIT_BEFORE_KAFKA_3_6 = ['message.timestamp.difference.max.ms']
const BATCH_OVERHEAD_BYTES = 1_024
const DEFAULT_BATCH_BYTES = 1_048_588

export const isLatched = (configuration: Configuration): boolean => configuration.get(LATCH[0]) === LATCH[1]

/** Creates a topic with the latch, for batches of up to `largestBatchBytes`. Returns false if it exists. */
export async function createLatchedTopic(
  kafka: Kafka,
  topic: TopicSettings,
  configuration: Configuration,
  largestBatchBytes: number,
): Promise<boolean> {
  const batchBytes = Number(configuration.get(MAX_BATCH) ?? DEFAULT_BATCH_BYTES)
  const latched = [
    ...configuration,
    ['message.timestamp.type', 'CreateTime'],
    [MAX_BATCH, String(Math.max(batchBytes, largestBatchBytes + BATCH_OVERHEAD_BYTES))],
    LATCH,
  ] as const
  const create = (limits: readonly string[]) =>
    createConfigured(kafka, topic, () => new Map([...latched, ...limits.map((name) => [name, UNLIMITED_MS] as const)]))
  try {
    return await create(TIME_LIMITS)
  } catch (error) {
    if (!isOfType(error, 'INVALID_CONFIG')) throw error
    return create(TIME_LIMIT_BEFORE_KAFKA_3_6)
  }
}
