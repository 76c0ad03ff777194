import type { Operation } from '@plant-store/shared/event-log/broker-errors.ts'
import type { Right } from '@plant-store/shared/event-log/rights.ts'
import { kafkajs } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { AclEntry, AclOperationTypes as OperationType } from 'kafkajs'

const { AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs
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
