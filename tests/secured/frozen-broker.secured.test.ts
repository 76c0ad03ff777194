import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { securityOf } from '@plant-store/shared/event-log/kafka-security.ts'
import { REPLAY_FETCHES, replay } from '@plant-store/shared/event-log/replay.ts'
import { readEnds } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions, type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
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
/** One for each fetch. */
const LARGE_RECORDS = 4
/** Kafka elects other leaders some seconds after a broker has stopped. */
const SOON = { timeout: 90_000, interval: 100 }

let cluster: Awaited<ReturnType<typeof startSecuredKafka>>

beforeAll(async () => {
  cluster = await startSecuredKafka({ users: [USER] })
  await cluster.allowAll(USER)
})
afterAll(() => cluster?.stop())

/** Until the end of the test, or of the stop that it returns. */
function stopBroker(nodeId: number): () => void {
  cluster.signal(nodeId, 'SIGSTOP')
  const resume = () => cluster.signal(nodeId, 'SIGCONT')
  onTestFinished(resume)
  return resume
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

/** A topic with one replica of each partition, the next one on the next broker. */
async function createUnreplicatedTopic(): Promise<string> {
  const topic = `plants-${randomUUID()}`
  const replicaAssignment = NODE_IDS.map((nodeId, partition) => ({ partition, replicas: [nodeId] }))
  const configEntries = [
    { name: 'min.insync.replicas', value: '1' },
    { name: 'retention.ms', value: '-1' },
  ]
  const topics = [{ topic, replicaAssignment, configEntries }]
  // That kafkajs waits for the leaders fails while one of the brokers does not know the topic yet.
  await withAdmin(clientOf(1), (admin) => admin.createTopics({ waitForLeaders: false, topics }))
  return topic
}

it('appends to and follows the partitions that have a leader', async () => {
  const topic = await createUnreplicatedTopic()
  const partitions = NODE_IDS.length
  const appender = createAppender(clientOf(1), topic)
  onTestFinished(() => appender.close())
  async function untilLeaders(expected: (number | undefined)[]): Promise<void> {
    await vi.waitFor(async () => {
      await appender.refreshLeaders()
      expect(allPartitions(partitions).map(appender.leaderOf)).toEqual(expected)
    }, SOON)
  }
  const recordOf = (partition: number) => ({ ...newEvent(1n, 1), partition: partition as Partition })
  const follow = () => followLog({ kafka: clientOf(1), topic, partitions })
  type Followed = ReturnType<typeof follow>
  const appendAndFollow = async (partition: number, readers: readonly Followed[]) => {
    const before = readers.map((reader) => reader.offsetsOf(partition as Partition).length)
    await vi.waitFor(() => appender.append([recordOf(partition)]), SOON)
    const lengths = () => readers.map((reader) => reader.offsetsOf(partition as Partition).length)
    await vi.waitFor(() => {
      expect(readers.flatMap(({ halts }) => halts)).toEqual([])
      for (const [n, length] of lengths().entries()) expect(length).toBeGreaterThan(before[n] as number)
    }, SOON)
  }
  await untilLeaders(NODE_IDS)
  const follower = follow()
  for (const partition of allPartitions(partitions)) await appendAndFollow(partition, [follower])

  const resume = stopBroker(2)
  await untilLeaders([1, undefined, 3])
  const later = follow()
  for (const partition of [0, 2]) await appendAndFollow(partition, [follower, later])
  await expect(appender.append([recordOf(1)])).rejects.toThrow('no known leader')
  await expect(withAdmin(clientOf(1), (admin) => admin.fetchTopicOffsets(topic))).rejects.toThrow('no leader')

  resume()
  await untilLeaders(NODE_IDS)
  await appendAndFollow(1, [follower, later])
})

it('replays each record once when another partition gets another leader meanwhile', async () => {
  const topic = await createUnreplicatedTopic()
  const [moved, replayed] = [0, 1] as [Partition, Partition]
  const appender = createAppender(clientOf(1), topic)
  onTestFinished(() => appender.close())
  const largeRecord = {
    ...newEvent(1n, 1),
    partition: replayed,
    value: Buffer.alloc(REPLAY_FETCHES.maxBytesPerPartition),
  }
  for (const record of Array(LARGE_RECORDS).fill(largeRecord)) {
    await vi.waitFor(() => appender.append([record]), SOON)
  }
  await vi.waitFor(() => appender.append([{ ...newEvent(1n, 1), partition: moved }]), SOON)

  const kafka = clientOf(1)
  let assignments = 0
  async function move(): Promise<void> {
    const topics = [{ topic, partitionAssignment: [{ partition: moved, replicas: [3] }] }]
    const operator = createKafka(cluster.brokers.split(','), 'operator', quietLog)
    await withAdmin(operator, (admin) => admin.alterPartitionReassignments({ topics }))
    await vi.waitFor(() => expect(assignments).toBeGreaterThan(1), SOON)
  }
  const offsets: Offset[] = []
  await replay({
    ...{ kafka, topic, partitions: NODE_IDS.length, log: quietLog, time: systemTime },
    ranges: new Map([
      [moved, { from: BEFORE_LOG, end: offsetOf(1) }],
      [replayed, { from: BEFORE_LOG, end: offsetOf(LARGE_RECORDS) }],
    ]),
    read: ({ offset }) => ({ offset }),
    ends() {
      assignments++
      return readEnds(kafka, topic)
    },
    async onRecords(partition, records) {
      if (partition !== replayed) return
      if (offsets.length === 0) await move()
      offsets.push(...records.map(({ offset }) => offset))
    },
  })
  expect(offsets).toEqual(Array.from({ length: LARGE_RECORDS }, (_, offset) => offset))
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
