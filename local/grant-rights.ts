import { type Operation, reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { securityOf } from '@plant-store/shared/event-log/kafka-security.ts'
import { KAFKA_SETTINGS } from '@plant-store/shared/event-log/kafka-settings.ts'
import { PROGRAMS, type Right, rightsOf } from '@plant-store/shared/event-log/rights.ts'
import { kafkajs } from '@plant-store/shared/kafka-client/kafkajs.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { SERVICE_SETTINGS, tableOf } from '@plant-store/shared/stores/store-settings.ts'
import type { AclEntry, AclOperationTypes as OperationType } from 'kafkajs'
import { Type } from 'typebox'

// Gives the user of each program, named as the program, its rights. Connects as a user who may alter ACLs.

const { AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs
const { PLANTS_TOPIC, PLANTS_TABLE } = SERVICE_SETTINGS
const CODES: Record<Operation, OperationType> = {
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Create: AclOperationTypes.CREATE,
  Delete: AclOperationTypes.DELETE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
  AlterConfigs: AclOperationTypes.ALTER_CONFIGS,
}
const TYPES = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  'transactional-id': AclResourceTypes.TRANSACTIONAL_ID,
}

export const OPERATIONS = Object.keys(CODES) as Operation[]

/** The ACLs that give a user this right, from any host. */
export const aclsOf = (user: string, right: Right): AclEntry[] =>
  right.operations.map((operation) => ({
    resourceType: TYPES[right.resource],
    resourceName: right.name,
    resourcePatternType: right.pattern === 'literal' ? ResourcePatternTypes.LITERAL : ResourcePatternTypes.PREFIXED,
    ...{ principal: `User:${user}`, host: '*' },
    operation: CODES[operation],
    permissionType: AclPermissionTypes.ALLOW,
  }))

async function grant(): Promise<void> {
  const settings = readSettings(Type.Object({ ...KAFKA_SETTINGS, PLANTS_TOPIC, PLANTS_TABLE }), process.env)
  const brokers = settings.KAFKA_BROKERS.split(',')
  const kafka = createKafka(brokers, 'plant-store-setup', createLog('setup', 'error'), securityOf(settings))
  const acl = PROGRAMS.flatMap((program) =>
    rightsOf(program, settings.PLANTS_TOPIC, tableOf(settings)).flatMap((right) => aclsOf(program, right)),
  )
  // Kafka has just been started: a connection or a request may take longer than its limit.
  await retry(() => withAdmin(kafka, (admin) => admin.createAcls({ acl })), { everyMs: 200, giveUpAfterMs: 20_000 })
}

if (import.meta.main)
  await grant().catch((error) => {
    console.error(reasonOf(error))
    process.exitCode = 1
  })
