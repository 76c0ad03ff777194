import { setTimeout as delay } from 'node:timers/promises'
import type { Admin, Kafka } from 'kafkajs'
import { kafkajs } from '../kafka-client/kafkajs.ts'
import { type Offset, offsetOf } from '../plant/position.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { withAdmin } from './admin.ts'
import { endsOfWholeLog, type LogEnds, readTopic } from './log-ends.ts'

type Configuration = ReadonlyMap<string, string>

export type TopicSettings = { topic: string; partitions: number }

/** What the log looks like, and what production would want. */
export type TopicState = LogEnds & { warnings: string[] }

const RETAIN_FOR_EVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' }
/** With this the broker stores what others send compressed in a form that every reader knows. */
const COMPRESSION = 'compression.type'
const UNREADABLE_COMPRESSIONS = ['lz4', 'snappy']
const LOST =
  'the plants they created. Restore the topic from a copy, or start a new one under another PLANTS_TOPIC'
const CONFIRM_ATTEMPTS = 4
const CONFIRM_AFTER_MS = 1_000
const PRODUCTION_REPLICAS = 3
const PRODUCTION = {
  'min.insync.replicas': '2',
  'unclean.leader.election.enable': 'false',
}

/**
 * Creates the topic with the settings the protocol needs, on as many brokers as there are, up to three.
 * Returns false if it was there already.
 */
export async function createTopic(kafka: Kafka, { topic, partitions }: TopicSettings): Promise<boolean> {
  return withAdmin(kafka, async (admin) => {
    const { brokers } = await admin.describeCluster()
    const replicationFactor = Math.min(PRODUCTION_REPLICAS, brokers.length)
    const settings = {
      ...RETAIN_FOR_EVER,
      [COMPRESSION]: 'uncompressed',
      ...(replicationFactor === PRODUCTION_REPLICAS && PRODUCTION),
    }
    return admin.createTopics({
      waitForLeaders: true,
      topics: [
        {
          topic,
          numPartitions: partitions,
          replicationFactor,
          configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
        },
      ],
    })
  })
}

/** Throws a PreconditionError when the topic is not as the protocol needs it; other errors mean Kafka did not answer. */
export async function checkTopic(kafka: Kafka, settings: TopicSettings): Promise<TopicState> {
  return withAdmin(kafka, async (admin) => {
    // In this order: asking for the metadata of a topic that is not there could make the broker create it.
    const configuration = await confirmed(() => readConfiguration(admin, settings))
    const { topicId, replicas } = await confirmed(() => checkPartitions(admin, settings))
    checkRetention(settings.topic, configuration)
    const warnings = warningsOf(settings.topic, configuration, replicas)
    return { topicId, ends: await endsOfWholeLog(admin, settings.topic, LOST), warnings }
  })
}

/** Of each partition the offset of its first record of this time (ms since 1970) or later, or its end when there is none. */
export async function offsetsAt(kafka: Kafka, topic: string, ms: number): Promise<Offset[]> {
  return withAdmin(kafka, async (admin) => {
    const found: Offset[] = []
    for (const { partition, offset } of await admin.fetchTopicOffsetsByTimestamp(topic, ms)) {
      found[partition] = offsetOf(offset)
    }
    return found
  })
}

/** A broker hears of a new topic or partition a little after it was made; so what is missing must stay missing. */
async function confirmed<T>(check: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt < CONFIRM_ATTEMPTS; attempt++) {
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof PreconditionError)) throw error
      await delay(CONFIRM_AFTER_MS)
    }
  }
  return check()
}

async function readConfiguration(admin: Admin, { topic, partitions }: TopicSettings): Promise<Configuration> {
  const type = kafkajs.ConfigResourceTypes.TOPIC
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type, name: topic }],
    })
    return new Map(
      resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]),
    )
  } catch (error) {
    if ((error as { type?: string }).type !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error
    throw new PreconditionError(
      `topic ${topic} does not exist: create it with ${partitions} partitions, cleanup.policy=delete, ` +
        'retention.ms=-1 and retention.bytes=-1, or let `npm start` create it',
    )
  }
}

async function checkPartitions(admin: Admin, { topic, partitions }: TopicSettings) {
  const { topicId, partitions: found } = await readTopic(admin, topic)
  if (found.length !== partitions) {
    throw new PreconditionError(
      `topic ${topic} has ${found.length} partitions, but PLANTS_PARTITIONS is ${partitions}: set it to ` +
        'the count the topic was created with. A topic whose count was changed later can not be used: its ids have moved',
    )
  }
  return { topicId, replicas: Math.min(...found.map(({ replicas }) => replicas.length)) }
}

function checkRetention(topic: string, configuration: Configuration): void {
  const wrong = Object.entries(RETAIN_FOR_EVER)
    .filter(([name, value]) => configuration.get(name) !== value)
    .map(([name, value]) => `set ${name} to ${value} (it is ${configuration.get(name)})`)
  if (wrong.length > 0) throw new PreconditionError(`topic ${topic} would lose events: ${wrong.join(', ')}`)
  const compression = configuration.get(COMPRESSION) ?? ''
  if (UNREADABLE_COMPRESSIONS.includes(compression)) {
    throw new PreconditionError(
      `topic ${topic} is compressed with ${compression}, which can not be read here: set ${COMPRESSION} to uncompressed`,
    )
  }
}

function warningsOf(topic: string, configuration: Configuration, replicas: number): string[] {
  const warnings: string[] = []
  if (replicas < PRODUCTION_REPLICAS) {
    warnings.push(
      `has ${replicas} of ${PRODUCTION_REPLICAS} replicas: in production a lost disk loses plants`,
    )
  }
  for (const [name, wanted] of Object.entries(PRODUCTION)) {
    const value = configuration.get(name)
    if (value !== wanted) warnings.push(`${name} is ${value}, production wants ${wanted}`)
  }
  if (configuration.get(COMPRESSION) === 'producer') {
    const unreadable = UNREADABLE_COMPRESSIONS.join(' or ')
    warnings.push(
      `${COMPRESSION} is producer: one record that somebody compresses with ${unreadable} would stop every ` +
        'reader here; set it to uncompressed',
    )
  }
  return warnings.map((warning) => `topic ${topic}: ${warning}`)
}
