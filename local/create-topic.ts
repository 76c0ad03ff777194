import { preconditionErrorOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { securityOf } from '@plant-store/shared/event-log/kafka-security.ts'
import { KAFKA_SETTINGS } from '@plant-store/shared/event-log/kafka-settings.ts'
import { checkTopic, createTopic, TABLE, type TopicKind } from '@plant-store/shared/event-log/topic.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { onSignal } from '@plant-store/shared/runtime/signals.ts'
import { SERVICE_SETTINGS, tableOf } from '@plant-store/shared/stores/store-settings.ts'
import { Type } from 'typebox'

// Creates the topics of log and table unless they exist, and checks their settings in any case. With --wait it waits for
// a Kafka that does not respond yet, such as one that was started at the same time.

const { PLANTS_TOPIC, PLANTS_PARTITIONS, PLANTS_TABLE } = SERVICE_SETTINGS
const Settings = Type.Object({
  ...KAFKA_SETTINGS,
  PLANTS_TOPIC,
  PLANTS_PARTITIONS,
  PLANTS_TABLE,
})

const WAIT_MS = 120_000
const CHECK_WITHIN_MS = 20_000
const AGAIN_AFTER_MS = 200

// The process 1 of a container ignores a signal without a handler. A setup that is cut off has not succeeded.
onSignal(() => process.exit(1))
try {
  const settings = readSettings(Settings, process.env)
  const { PLANTS_TOPIC: topic, PLANTS_PARTITIONS: partitions } = settings
  const brokers = settings.KAFKA_BROKERS.split(',')
  const kafka = createKafka(brokers, 'plant-store-setup', createLog('setup', 'error'), securityOf(settings))
  const patience = { everyMs: AGAIN_AFTER_MS, giveUpAfterMs: process.argv.includes('--wait') ? WAIT_MS : 0 }
  const create = async (name: string, kind?: TopicKind) => {
    const created = await retry(() => createTopic(kafka, { topic: name, partitions }, kind), patience)
    // The brokers may become leaders of the new partitions only a little after they reported the topic as created.
    const known = { everyMs: AGAIN_AFTER_MS, giveUpAfterMs: CHECK_WITHIN_MS }
    await retry(() => checkTopic(kafka, { topic: name, partitions }, kind), known)
    console.log(`${created ? 'created' : 'found'} topic ${name} with ${partitions} partitions`)
  }
  const provide = (name: string, kind?: TopicKind) =>
    create(name, kind).catch((error: unknown) => {
      throw preconditionErrorOf(error, { topic: name })
    })
  const table = tableOf(settings)
  await provide(topic)
  if (table !== undefined) await provide(table, TABLE)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
