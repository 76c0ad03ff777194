import { reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { securityOf } from '@plant-store/shared/event-log/kafka-security.ts'
import { KAFKA_SETTINGS } from '@plant-store/shared/event-log/kafka-settings.ts'
import { PROGRAMS, rightsOf } from '@plant-store/shared/event-log/rights.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { SERVICE_SETTINGS, tableOf } from '@plant-store/shared/stores/store-settings.ts'
import { Type } from 'typebox'
import { aclsOf } from './acls.ts'

// Gives the user of each program, named as the program, its rights. Connects as a user who may alter ACLs.

const { PLANTS_TOPIC, PLANTS_TABLE } = SERVICE_SETTINGS

try {
  const settings = readSettings(Type.Object({ ...KAFKA_SETTINGS, PLANTS_TOPIC, PLANTS_TABLE }), process.env)
  const brokers = settings.KAFKA_BROKERS.split(',')
  const kafka = createKafka(brokers, 'plant-store-setup', createLog('setup', 'error'), securityOf(settings))
  const acl = PROGRAMS.flatMap((program) =>
    rightsOf(program, settings.PLANTS_TOPIC, tableOf(settings)).flatMap((right) => aclsOf(program, right)),
  )
  // Kafka has just been started: a connection or a request may take longer than its limit.
  await retry(() => withAdmin(kafka, (admin) => admin.createAcls({ acl })), { everyMs: 200, giveUpAfterMs: 20_000 })
} catch (error) {
  console.error(reasonOf(error))
  process.exitCode = 1
}
