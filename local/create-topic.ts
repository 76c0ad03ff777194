import { setTimeout as delay } from 'node:timers/promises'
import { createKafka, type Kafka } from '@plant-store/shared/event-log/connection.ts'
import { checkTopic, createTopic, type TopicSettings } from '@plant-store/shared/event-log/topic.ts'
import { PreconditionError } from '@plant-store/shared/process/failures.ts'
import { createLog } from '@plant-store/shared/process/log.ts'
import { readSettings, SERVICE_SETTINGS } from '@plant-store/shared/process/settings.ts'
import { Type } from 'typebox'

// Creates the topic of the plants on the Kafka given, unless it is there; checks it either way.

const { KAFKA_BROKERS, PLANTS_TOPIC, PLANTS_PARTITIONS } = SERVICE_SETTINGS
const Settings = Type.Object({ KAFKA_BROKERS, PLANTS_TOPIC, PLANTS_PARTITIONS })

const CHECK_WITHIN_MS = 20_000
const CHECK_EVERY_MS = 200

/** The brokers may lead the partitions of a new topic only a little after they said it was created. */
async function checkSoon(kafka: Kafka, topic: TopicSettings): Promise<void> {
  const giveUpAt = performance.now() + CHECK_WITHIN_MS
  while (true) {
    try {
      await checkTopic(kafka, topic)
      return
    } catch (error) {
      if (error instanceof PreconditionError || performance.now() > giveUpAt) throw error
      await delay(CHECK_EVERY_MS)
    }
  }
}

try {
  const settings = readSettings(Settings, process.env)
  const topic = { topic: settings.PLANTS_TOPIC, partitions: settings.PLANTS_PARTITIONS }
  const brokers = settings.KAFKA_BROKERS.split(',')
  const kafka = createKafka(brokers, 'plant-store-setup', createLog('setup', 'error'))
  const created = await createTopic(kafka, topic)
  await checkSoon(kafka, topic)
  console.log(`${created ? 'created' : 'found'} topic ${topic.topic} with ${topic.partitions} partitions`)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
