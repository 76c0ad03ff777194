import { parseArgs } from 'node:util'
import { preconditionErrorOf, reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
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
import { Failure, runProgram } from './processes/failure.mjs'

const { PLANTS_TOPIC, PLANTS_PARTITIONS, PLANTS_TABLE } = SERVICE_SETTINGS
const Settings = Type.Object({ ...KAFKA_SETTINGS, PLANTS_TOPIC, PLANTS_PARTITIONS, PLANTS_TABLE })

const WAIT_MS = 120_000
/** For a Kafka that runs: a busy one may take longer for a connection than its limit. */
const REACH_WITHIN_MS = 10_000
const CHECK_WITHIN_MS = 20_000
const AGAIN_AFTER_MS = 200
const HELP = `Creates the topics of log and table unless they exist, and checks their settings in any case.

  node local/create-topic.ts --wait

  --wait  waits up to ${WAIT_MS / 60_000} minutes for a Kafka that does not respond yet, such as one that was just started

KAFKA_BROKERS and the security of Kafka select the cluster; PLANTS_TOPIC, PLANTS_PARTITIONS and PLANTS_TABLE the topics.
`

// The process 1 of a container ignores a signal without a handler. A setup that is cut off has not succeeded.
onSignal(() => process.exit(1))
await runProgram(async (args) => {
  const { values } = parseArgs({ args, options: { wait: { type: 'boolean' } } })
  await createTopics(values.wait === true).catch((error) => Promise.reject(new Failure(reasonOf(error))))
  return 0
}, HELP)

async function createTopics(waits: boolean): Promise<void> {
  const settings = readSettings(Settings, process.env)
  const { PLANTS_TOPIC, PLANTS_PARTITIONS: partitions } = settings
  const brokers = settings.KAFKA_BROKERS.split(',')
  const kafka = createKafka(brokers, 'plant-store-setup', createLog('setup', 'error'), securityOf(settings))
  let waitsFor = ''
  const patience = {
    everyMs: AGAIN_AFTER_MS,
    giveUpAfterMs: waits ? WAIT_MS : REACH_WITHIN_MS,
    onFailure(error: unknown) {
      const reason = reasonOf(error)
      if (waits && reason !== waitsFor) console.error(`waiting up to ${WAIT_MS / 1_000} s: ${reason}`)
      waitsFor = reason
    },
  }
  async function provide(topic: string, kind?: TopicKind): Promise<void> {
    // A refusal passes while a new cluster is set up, which is what --wait is for.
    const refusal = (error: unknown) => Promise.reject(waits ? error : preconditionErrorOf(error, { topic }))
    try {
      const created = await retry(() => createTopic(kafka, { topic, partitions }, kind).catch(refusal), patience)
      // The brokers may become leaders of the new partitions only a little after they reported the topic as created.
      const known = { everyMs: AGAIN_AFTER_MS, giveUpAfterMs: CHECK_WITHIN_MS }
      await retry(() => checkTopic(kafka, { topic, partitions }, kind), known)
      console.log(`${created ? 'created' : 'found'} topic ${topic} with ${partitions} partitions`)
    } catch (error) {
      throw preconditionErrorOf(error, { topic })
    }
  }
  const table = tableOf(settings)
  await provide(PLANTS_TOPIC)
  if (table !== undefined) await provide(table, TABLE)
}
