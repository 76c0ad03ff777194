import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { kafkajs } from '@plant-store/shared/kafka-client/kafkajs.ts'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { freePort } from '../../local/processes/port.mjs'
import { ensureJars } from '../../local/stores/jars.mjs'
import { startKafka } from '../../local/stores/kafka.mjs'
import { consumeInto, eventually, newGroup } from '../support/consumed-plants.ts'
import { openTopic } from '../support/open-topic.ts'
import { registerProcess } from '../support/test-run.ts'

const PASSWORD = 'a-password-for-tests'
const GROUP = newGroup()

/** A Kafka where whoever gives no name may do all, and others what they were given the right to. */
async function startGuardedKafka() {
  const { kafkaClasspath: classpath, java } = await ensureJars({ redis: false })
  const dir = mkdtempSync(join(inject('testRun'), 'guarded-kafka-'))
  const port = await freePort()
  const login = `org.apache.kafka.common.security.plain.PlainLoginModule required user_consumer="${PASSWORD}";`
  const kafka = await startKafka({
    ...{ dir, classpath, java, logFile: join(dir, 'kafka.log') },
    moreListeners: [`SASL_PLAINTEXT://127.0.0.1:${port}`],
    moreSettings: {
      'sasl.enabled.mechanisms': 'PLAIN',
      'listener.name.sasl_plaintext.plain.sasl.jaas.config': login,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
    },
    onSpawn: (running) => registerProcess(inject('testRun'), running),
  })
  return { ...kafka, guarded: [`127.0.0.1:${port}`] }
}

const as = (username: string, password = PASSWORD) => ({
  sasl: { mechanism: 'plain' as const, username, password },
  connectWithinMs: 10_000,
})

describe('a Kafka that asks who is there', () => {
  let kafka: Awaited<ReturnType<typeof startGuardedKafka>>
  beforeAll(async () => {
    kafka = await startGuardedKafka()
    return () => kafka.stop({ graceMs: 1_000 })
  })

  it('is consumed with Read and Describe on the topic and Read on the group, and nothing else', async () => {
    const topic = await openTopic(2, kafka.brokers)
    const { AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs
    const allow = (resourceType: number, resourceName: string, operation: number) => ({
      ...{ resourceType, resourceName, operation, host: '*', principal: 'User:consumer' },
      resourcePatternType: ResourcePatternTypes.LITERAL,
      permissionType: AclPermissionTypes.ALLOW,
    })
    const acl = [
      allow(AclResourceTypes.TOPIC, topic.topic, AclOperationTypes.READ),
      allow(AclResourceTypes.TOPIC, topic.topic, AclOperationTypes.DESCRIBE),
      allow(AclResourceTypes.GROUP, GROUP, AclOperationTypes.READ),
    ]
    await withAdmin(topic.kafka, (admin) => admin.createAcls({ acl }))
    await topic.append(20)
    const given = { brokers: kafka.guarded, groupId: GROUP }
    const consumer = await consumeInto(topic.topic, { ...given, ...as('consumer') })
    await eventually(() => expect(consumer.events).toHaveLength(20))
    await consumer.stop()
    await topic.append(5)
    const next = await consumeInto(topic.topic, { ...given, ...as('consumer') })
    await eventually(() => expect(next.events).toHaveLength(5))

    await expect(consumeInto(topic.topic, { ...given, ...as('consumer', 'wrong') })).rejects.toMatchObject({
      code: 'not-authorized',
      message: expect.stringContaining('Kafka refuses'),
    })
    // What Kafka answers, kafkajs keeps to itself: it might be a coordinator that is away.
    const elsewhere = { ...given, ...as('consumer'), groupId: newGroup(), connectWithinMs: 0 }
    await expect(consumeInto(topic.topic, elsewhere)).rejects.toMatchObject({
      code: 'kafka-unreachable',
      message: expect.stringContaining('this user may not read the group'),
    })
    const other = await openTopic(1, kafka.brokers)
    await expect(consumeInto(other.topic, { ...given, ...as('consumer') })).rejects.toMatchObject({
      code: 'not-authorized',
    })
  })
})
