import kafkajs, { type Admin, type Kafka } from 'kafkajs'
import { FIRST, type Offset, offsetOf } from '../plant/offset.ts'
import { PreconditionError } from '../process/failures.ts'

export type TopicSettings = { topic: string; partitions: number }

/** What the log looks like: the next offset to be written in each partition, and what production would want. */
export type TopicState = { ends: Offset[]; warnings: string[] }

const RETAIN_FOR_EVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' }
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
    const settings =
      replicationFactor < PRODUCTION_REPLICAS ? RETAIN_FOR_EVER : { ...RETAIN_FOR_EVER, ...PRODUCTION }
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
    const replicas = await checkPartitions(admin, settings)
    const warnings = await checkConfiguration(admin, settings.topic, replicas)
    return { ends: await checkOffsets(admin, settings), warnings }
  })
}

async function checkPartitions(admin: Admin, { topic, partitions }: TopicSettings): Promise<number> {
  const known = await admin.listTopics()
  if (!known.includes(topic)) {
    throw new PreconditionError(
      `topic ${topic} does not exist: create it with ${partitions} partitions, cleanup.policy=delete, ` +
        'retention.ms=-1 and retention.bytes=-1, or let `npm start` create it',
    )
  }
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const found = topics[0]?.partitions ?? []
  if (found.length !== partitions) {
    throw new PreconditionError(
      `topic ${topic} has ${found.length} partitions, but PLANTS_PARTITIONS is ${partitions}: set it to ` +
        'the count the topic was created with. A topic whose count was changed later can not be used: its ids have moved',
    )
  }
  return Math.min(...found.map(({ replicas }) => replicas.length))
}

async function checkConfiguration(admin: Admin, topic: string, replicas: number): Promise<string[]> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }],
  })
  const found = new Map(
    resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]),
  )
  const wrong = Object.entries(RETAIN_FOR_EVER).filter(([name, value]) => found.get(name) !== value)
  if (wrong.length > 0) {
    throw new PreconditionError(
      `topic ${topic} would lose events: ${wrong.map(([name, value]) => `set ${name} to ${value} (it is ${found.get(name)})`).join(', ')}`,
    )
  }
  return [
    ...(replicas < PRODUCTION_REPLICAS
      ? [
          `topic ${topic} has ${replicas} of ${PRODUCTION_REPLICAS} replicas: in production a lost disk loses plants`,
        ]
      : []),
    ...Object.entries(PRODUCTION)
      .filter(([name, value]) => found.get(name) !== value)
      .map(([name, value]) => `topic ${topic}: ${name} is ${found.get(name)}, production wants ${value}`),
  ]
}

async function checkOffsets(admin: Admin, { topic }: TopicSettings): Promise<Offset[]> {
  const ends: Offset[] = []
  for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
    if (offsetOf(low) !== FIRST) {
      throw new PreconditionError(
        `partition ${partition} of ${topic} begins at offset ${low}: its first events are gone, and with them the ` +
          'plants they created. Restore the topic from a copy, or start a new one under another PLANTS_TOPIC',
      )
    }
    ends[partition] = offsetOf(high)
  }
  return ends
}

async function withAdmin<T>(kafka: Kafka, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await use(admin)
  } finally {
    await admin.disconnect()
  }
}
