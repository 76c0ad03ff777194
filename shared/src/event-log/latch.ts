import type { Kafka } from 'kafkajs'
import { kafkajs } from '../kafka-client/kafkajs.ts'
import { withAdmin } from './connection.ts'

// A topic that is being restored has a latch: a setting that both services refuse. Half a log with an empty read model
// would let the api create plants again that the other half has.

/** Settings of a topic by name. */
export type Configuration = ReadonlyMap<string, string>

/** Keeps records forever, as the required -1 does, but is not the required text. */
const LATCH = ['retention.ms', '9223372036854775807'] as const
const UNLIMITED_MS = '9223372036854775807'
/** Records keep the times that they had. */
const TIME_LIMITS = ['message.timestamp.before.max.ms', 'message.timestamp.after.max.ms']
const TIME_LIMIT_BEFORE_KAFKA_3_6 = ['message.timestamp.difference.max.ms']
const MAX_BATCH = 'max.message.bytes'
const BATCH_OVERHEAD_BYTES = 1_024
const DEFAULT_BATCH_BYTES = 1_048_588
const MAX_REPLICAS = 3

export const isLatched = (configuration: Configuration): boolean => configuration.get(LATCH[0]) === LATCH[1]

/** The settings of a topic that are not defaults of the brokers; undefined when there is no such topic. */
export async function readConfiguration(kafka: Kafka, topic: string): Promise<Configuration | undefined> {
  return withAdmin(kafka, async (admin) => {
    try {
      const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resourceOf(topic)] })
      const own = resources[0]?.configEntries.filter(
        ({ configSource }) => configSource === kafkajs.ConfigSource.TOPIC_CONFIG,
      )
      return new Map(own?.map(({ configName, configValue }) => [configName, configValue]))
    } catch (error) {
      if (typeOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return undefined
      throw error
    }
  })
}

/** Creates a topic with the latch, for records of up to `largestRecordBytes`. Returns false if it exists. */
export async function createLatchedTopic(
  kafka: Kafka,
  { topic, partitions }: { topic: string; partitions: number },
  configuration: Configuration,
  largestRecordBytes: number,
): Promise<boolean> {
  const batchBytes = Number(configuration.get(MAX_BATCH) ?? DEFAULT_BATCH_BYTES)
  const latched = new Map([
    ...configuration,
    ['message.timestamp.type', 'CreateTime'],
    [MAX_BATCH, String(Math.max(batchBytes, largestRecordBytes + BATCH_OVERHEAD_BYTES))],
    LATCH,
  ])
  return withAdmin(kafka, async (admin) => {
    const { brokers } = await admin.describeCluster()
    const create = (limits: readonly string[]) => {
      const configEntries = entriesOf([...latched, ...limits.map((name) => [name, UNLIMITED_MS] as const)])
      const replicationFactor = Math.min(MAX_REPLICAS, brokers.length)
      return admin.createTopics({
        waitForLeaders: false,
        topics: [{ topic, numPartitions: partitions, replicationFactor, configEntries }],
      })
    }
    try {
      return await create(TIME_LIMITS)
    } catch (error) {
      if (typeOf(error) !== 'INVALID_CONFIG') throw error
      return create(TIME_LIMIT_BEFORE_KAFKA_3_6)
    }
  })
}

/** Gives the topic these settings, and of all others the defaults of the brokers. The latch is lifted by it. */
export async function setConfiguration(kafka: Kafka, topic: string, configuration: Configuration): Promise<void> {
  const resources = [{ ...resourceOf(topic), configEntries: entriesOf(configuration) }]
  await withAdmin(kafka, (admin) => admin.alterConfigs({ validateOnly: false, resources }))
}

const resourceOf = (name: string) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })

const entriesOf = (configuration: Iterable<readonly [string, string]>) =>
  [...configuration].map(([name, value]) => ({ name, value }))

/** kafkajs throws several errors of topics as one, with their list. */
function typeOf(error: unknown): string | undefined {
  const { type, errors } = error as { type?: string; errors?: { type?: string }[] }
  return type ?? errors?.[0]?.type
}
