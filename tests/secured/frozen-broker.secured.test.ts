import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { securityOf } from '@plant-store/shared/event-log/kafka-security.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { followLog } from '../support/followed-log.ts'
import { newEvent } from '../support/new-events.ts'
import { quietLog } from '../support/quiet-log.ts'
import { PASSWORD, startSecuredKafka } from '../support/secured-kafka.ts'
import { createTestTopic } from '../support/topic.ts'

const USER = 'plants'
const NODE_IDS = [1, 2, 3]
const PARTITIONS = 6
/** Enough for some in each partition. */
const RECORDS = 60
/** Kafka elects other leaders some seconds after a broker has stopped. */
const SOON = { timeout: 90_000, interval: 100 }

let cluster: Awaited<ReturnType<typeof startSecuredKafka>>

beforeAll(async () => {
  cluster = await startSecuredKafka({ users: [USER] })
  await cluster.allowAll(USER)
})
afterAll(() => cluster?.stop())

/** Until the end of the test. */
function stopBroker(nodeId: number): void {
  cluster.signal(nodeId, 'SIGSTOP')
  onTestFinished(() => cluster.signal(nodeId, 'SIGCONT'))
}

/** A client that logs in over TLS, with the address of this broker before the others. */
function clientOf(first: number) {
  const addresses = cluster.saslTls.split(',')
  const brokers = [addresses[first - 1] as string, ...addresses.filter((_, index) => index !== first - 1)]
  const settings = {
    KAFKA_BROKERS: brokers.join(','),
    KAFKA_SECURITY_PROTOCOL: 'SASL_SSL',
    KAFKA_SSL_CA_FILE: cluster.authority.ca,
    KAFKA_SASL_MECHANISM: 'PLAIN',
    KAFKA_SASL_USERNAME: USER,
    KAFKA_SASL_PASSWORD: PASSWORD,
  } as const
  return createKafka(brokers, 'test', quietLog, securityOf(settings))
}

it('appends to the partitions that have a leader', async () => {
  const topic = `plants-${randomUUID()}`
  const replicaAssignment = NODE_IDS.map((nodeId, partition) => ({ partition, replicas: [nodeId] }))
  const configEntries = [{ name: 'min.insync.replicas', value: '1' }]
  const topics = [{ topic, replicaAssignment, configEntries }]
  // That kafkajs waits for the leaders fails while one of the brokers does not know the topic yet.
  await withAdmin(clientOf(1), (admin) => admin.createTopics({ waitForLeaders: false, topics }))
  const appender = createAppender(clientOf(1), topic)
  onTestFinished(() => appender.close())
  const leaders = () => allPartitions(NODE_IDS.length).map(appender.leaderOf)
  async function untilLeaders(expected: (number | undefined)[]): Promise<void> {
    await vi.waitFor(async () => {
      await appender.refreshLeaders()
      expect(leaders()).toEqual(expected)
    }, SOON)
  }
  await untilLeaders(NODE_IDS)
  stopBroker(2)
  await untilLeaders([1, undefined, 3])
  const record = { ...newEvent(1n, 1), partition: 2 as Partition }
  await vi.waitFor(() => appender.append([record]), SOON)
  await expect(appender.append([{ ...record, partition: 1 as Partition }])).rejects.toThrow('no known leader')
})

it('appends, follows and connects while a broker is stopped that accepts connections', async () => {
  const { topic } = await createTestTopic(cluster.brokers, PARTITIONS)
  const newRecords = () => Array.from({ length: RECORDS }, (_, id) => newEvent(BigInt(id), PARTITIONS))
  const kafka = clientOf(1)
  const appender = createAppender(kafka, topic)
  onTestFinished(() => appender.close())
  await appender.connect()
  const followed = followLog({ kafka, topic, partitions: PARTITIONS })
  const delivered = () => followed.delivered.flatMap(({ records }) => records.map(({ claim }) => claim?.eventId))
  async function appendAndFollow(): Promise<void> {
    const records = newRecords()
    await vi.waitFor(() => appender.append(records), SOON)
    const eventIds = records.map(({ headers }) => String(headers.ce_id))
    await vi.waitFor(() => expect(delivered()).toEqual(expect.arrayContaining(eventIds)), SOON)
  }
  await appendAndFollow()

  const frozen = appender.leaderOf(0 as Partition) as number
  stopBroker(frozen)
  await appendAndFollow()
  for (const partition of allPartitions(PARTITIONS)) expect(appender.leaderOf(partition)).not.toBe(frozen)

  const offsets = await withAdmin(clientOf(frozen), (admin) => admin.fetchTopicOffsets(topic))
  expect(offsets).toHaveLength(PARTITIONS)
})
