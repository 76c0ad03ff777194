import type { Admin, Kafka } from 'kafkajs'
import { kafkajs } from '../kafka-client/kafkajs.ts'
import { isOfType } from './broker-errors.ts'
import { withAdmin } from './connection.ts'

export type TopicSettings = { topic: string; partitions: number }

export type Configuration = ReadonlyMap<string, string>

export const MAX_BATCH = 'max.message.bytes'
export const PRODUCTION_REPLICAS = 3

/** The settings of a topic that are not defaults of the brokers; undefined when there is no such topic. */
export const readConfiguration = (kafka: Kafka, topic: string): Promise<Configuration | undefined> =>
  withAdmin(kafka, (admin) => describeConfiguration(admin, topic, kafkajs.ConfigSource.TOPIC_CONFIG))

/** The settings of a topic, with `source` only those from there; undefined when there is no such topic. */
export async function describeConfiguration(
  admin: Admin,
  topic: string,
  source?: number,
): Promise<Configuration | undefined> {
  try {
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resourceOf(topic)] })
    const entries = resources[0]?.configEntries.filter(
      ({ configSource }) => source === undefined || configSource === source,
    )
    return new Map(entries?.map(({ configName, configValue }) => [configName, configValue]))
  } catch (error) {
    if (isOfType(error, 'UNKNOWN_TOPIC_OR_PARTITION')) return undefined
    throw error
  }
}

/**
 * Creates a topic, with a replica on each of up to 3 brokers and the settings for this number of them. Returns false if
 * it exists. The brokers know the new topic a little later.
 */
export async function createConfigured(
  kafka: Kafka,
  { topic, partitions }: TopicSettings,
  configurationFor: (replicas: number) => Configuration,
): Promise<boolean> {
  return withAdmin(kafka, async (admin) => {
    const { brokers } = await admin.describeCluster()
    const replicationFactor = Math.min(PRODUCTION_REPLICAS, brokers.length)
    const configEntries = entriesOf(configurationFor(replicationFactor))
    return admin.createTopics({
      // That kafkajs waits for the leaders fails while one of several brokers does not know the topic yet.
      waitForLeaders: false,
      topics: [{ topic, numPartitions: partitions, replicationFactor, configEntries }],
    })
  })
}

/** Gives the topic these settings, and of all others the defaults of the brokers. */
export async function setConfiguration(kafka: Kafka, topic: string, configuration: Configuration): Promise<void> {
  const resources = [{ ...resourceOf(topic), configEntries: entriesOf(configuration) }]
  await withAdmin(kafka, (admin) => admin.alterConfigs({ validateOnly: false, resources }))
}

const resourceOf = (name: string) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })

const entriesOf = (configuration: Configuration) => [...configuration].map(([name, value]) => ({ name, value }))
