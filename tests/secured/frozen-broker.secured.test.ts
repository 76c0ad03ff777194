import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import type { PlantCreated } from '@plant-store/shared/consumer/consumer.ts'
import { plantTable } from '@plant-store/shared/consumer/plant-table.ts'
import { type Appender, createAppender } from '@plant-store/shared/event-log/append.ts'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { securityOf } from '@plant-store/shared/event-log/kafka-security.ts'
import { REPLAY_FETCHES, replay } from '@plant-store/shared/event-log/replay.ts'
import { LOG, readEnds, readKnownEnds, TABLE } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions, type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import type { Admin } from 'kafkajs'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { consumeInto, newGroup } from '../support/consumed-plants.ts'
import { followLog } from '../support/followed-log.ts'
import { newEvent } from '../support/new-events.ts'
import { rowAt } from '../support/plants-table.ts'
import { quietLog } from '../support/quiet-log.ts'
import { PASSWORD, startSecuredKafka } from '../support/secured-kafka.ts'

const USER = 'plants'
const NEAREST = 'org.apache.kafka.common.replica.RackAwareReplicaSelector'
const NODE_IDS = [1, 2, 3]
const P = 0 as Partition
/** The partition that broker 2 leads. */
const P_OF_2 = 1 as Partition
/** Enough for some in each partition. */
const ROWS = 20
/** One for each fetch. */
const LARGE_RECORDS = 4
/** Kafka elects other leaders some seconds after a broker has stopped. */
const SOON = { timeout: 90_000, interval: 100 }
const NOBODY_LISTENS = 1

let cluster: Awaited<ReturnType<typeof startSecuredKafka>>

beforeAll(async () => {
  const moreSettings = { 'replica.selector.class': NEAREST }
  cluster = await startSecuredKafka({ nodeIds: NODE_IDS, users: [USER], moreSettings })
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

/** A client that logs in over TLS, with the address of this broker before the others, and reads in this rack. */
function clientOf(first: number, rack?: string) {
  const addresses = cluster.saslTls.split(',')
  const brokers = [addresses[first - 1] as string, ...addresses.filter((_, index) => index !== first - 1)]
  const settings = {
    KAFKA_BROKERS: brokers.join(','),
    KAFKA_SECURITY_PROTOCOL: 'SASL_SSL',
    KAFKA_SSL_CA_FILE: cluster.authority.ca,
    KAFKA_SASL_MECHANISM: 'PLAIN',
    KAFKA_SASL_USERNAME: USER,
    KAFKA_SASL_PASSWORD: PASSWORD,
    ...(rack !== undefined && { KAFKA_CLIENT_RACK: rack }),
  } as const
  return createKafka(brokers, 'test', quietLog, securityOf(settings))
}

/** A topic with one replica of each partition, on these brokers in turn. */
const createUnreplicatedTopic = (nodeIds = NODE_IDS, kind = LOG) =>
  createTopicOn(
    nodeIds.map((nodeId) => [nodeId]),
    kind,
  )

/** A topic with a partition on each of these groups of brokers, led by the first one of each. */
async function createTopicOn(assigned: readonly number[][], kind = LOG): Promise<string> {
  const topic = `plants-${randomUUID()}`
  const replicaAssignment = assigned.map((replicas, partition) => ({ partition, replicas }))
  const configEntries = [
    { name: 'min.insync.replicas', value: '1' },
    { name: 'unclean.leader.election.enable', value: 'true' },
    ...Object.entries(kind.required).map(([name, value]) => ({ name, value })),
  ]
  const topics = [{ topic, replicaAssignment, configEntries }]
  // That kafkajs waits for the leaders fails while one of the brokers does not know the topic yet.
  const create = () => withAdmin(clientOf(1), (admin) => admin.createTopics({ waitForLeaders: false, topics }))
  // Kafka refuses a partition on a broker that the test before has just resumed, until that broker is registered again.
  await vi.waitFor(create, SOON)
  return topic
}

/** An appender to this topic, until the test ends. */
function openAppender(topic: string): Appender {
  const appender = createAppender(clientOf(1), topic)
  onTestFinished(() => appender.close())
  return appender
}

const recordOf = (partition: number) => ({ ...newEvent(1n, 1), partition: partition as Partition })
type Followed = ReturnType<typeof followLog>

/** Appends a record, of which each reader gets one. */
async function appendAndFollow({ append }: Appender, partition: number, readers: readonly Followed[]): Promise<void> {
  const lengths = () => readers.map((reader) => reader.offsetsOf(partition as Partition).length)
  const before = lengths()
  await vi.waitFor(() => append([recordOf(partition)]), SOON)
  await vi.waitFor(() => {
    expect(readers.flatMap(({ halts }) => halts)).toEqual([])
    for (const [n, length] of lengths().entries()) expect(length).toBeGreaterThan(before[n] as number)
  }, SOON)
}

it('appends to and follows the partitions that have a leader, and follows those whose leader it can reach', async () => {
  const topic = await createUnreplicatedTopic()
  const partitions = NODE_IDS.length
  const appender = openAppender(topic)
  async function untilLeaders(expected: (number | undefined)[]): Promise<void> {
    await vi.waitFor(async () => {
      await appender.refreshLeaders()
      expect(allPartitions(partitions).map(appender.leaderOf)).toEqual(expected)
    }, SOON)
  }
  const follow = () => followLog({ kafka: clientOf(1), topic, partitions })
  await untilLeaders(NODE_IDS)
  const follower = follow()
  let isReachable = false
  const unconnected = await followWithout(2, { topic, partitions, isReachable: () => isReachable })
  await appendAndFollow(appender, 1, [follower])
  for (const partition of [0, 2]) await appendAndFollow(appender, partition, [follower, unconnected])

  const resume = stopBroker(2)
  await untilLeaders([1, undefined, 3])
  const later = follow()
  for (const partition of [0, 2]) await appendAndFollow(appender, partition, [follower, unconnected, later])
  await vi.waitFor(() => expect(appender.append([recordOf(1)])).rejects.toThrow('no known leader'), SOON)
  await vi.waitFor(() => expect(readEnds(clientOf(1), topic)).rejects.toThrow('no leader'), SOON)

  resume()
  await untilLeaders(NODE_IDS)
  await appendAndFollow(appender, 1, [follower, later])
  for (const partition of [0, 2]) await appendAndFollow(appender, partition, [unconnected])
  expect(unconnected.offsetsOf(P_OF_2)).toEqual([])
  isReachable = true
  await appendAndFollow(appender, 1, [unconnected])
})

type Unreached = { topic: string; partitions: number; isReachable(): boolean; rackId?: string }

/** Follows with a client that can connect to this broker only at times; another one coordinates its group. */
async function followWithout(nodeId: number, { topic, partitions, isReachable, rackId }: Unreached) {
  const addresses = cluster.brokers.split(',')
  const kafka = createKafka(addresses, 'test', quietLog, {
    rackId,
    socketFactory: ({ host, port, onConnect }) => {
      const isOpen = isReachable() || !addresses[nodeId - 1]?.endsWith(`:${port}`)
      return connect(isOpen ? port : NOBODY_LISTENS, host, onConnect)
    },
  })
  const groupId = await groupNotAt(nodeId)
  return followLog({ kafka, topic, partitions }, { groupId: () => groupId })
}

/** A group whose coordinator is another broker: the leader of the partition of its offsets. */
async function groupNotAt(nodeId: number): Promise<string> {
  const topic = '__consumer_offsets'
  const findPlaces = async (admin: Admin) => {
    // The first group that is looked for creates the topic.
    await admin.describeGroups([newGroup()])
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    const found = topics[0]?.partitions ?? []
    for (const { leader } of found) expect(leader).toBeGreaterThan(0)
    return found
  }
  const places = await vi.waitFor(() => withAdmin(clientOf(1), findPlaces), SOON)
  while (true) {
    const group = newGroup()
    const hash = Buffer.from(group).reduce((sum, byte) => (Math.imul(31, sum) + byte) | 0, 0)
    const place = places.find(({ partitionId }) => partitionId === Math.abs(hash) % places.length)
    if (place !== undefined && place.leader !== nodeId) return group
  }
}

it('reads from the leader while the replica of its rack stops, or cannot be reached', async () => {
  const topic = await createTopicOn([NODE_IDS])
  const appender = openAppender(topic)
  const readers = [
    followLog({ kafka: clientOf(1, 'rack-2'), topic, partitions: 1 }),
    await followWithout(2, { topic, partitions: 1, isReachable: () => false, rackId: 'rack-2' }),
  ]
  const appendTwice = async () => {
    for (let n = 0; n < 2; n++) await appendAndFollow(appender, P, readers)
  }
  // With the first record, the leader names the replica.
  await appendTwice()
  const resume = stopBroker(2)
  await appendTwice()
  resume()
  await appendTwice()
})

it('copies the partitions of the table that have a leader', async () => {
  const partitions = NODE_IDS.length
  const table = await createUnreplicatedTopic(NODE_IDS, TABLE)
  const appender = openAppender(table)
  const rows = Array.from({ length: ROWS }, (_, n) => rowAt(n, BigInt(n), partitions))
  async function write(into: readonly number[]): Promise<void> {
    for (const row of rows.filter(({ partition }) => into.includes(partition)))
      await vi.waitFor(() => appender.append([row]), SOON)
  }
  const copyTable = async () => {
    const copy = await plantTable({ brokers: cluster.brokers.split(','), table, log: quietLog })
    onTestFinished(copy.close)
    return copy
  }
  type Copy = Awaited<ReturnType<typeof copyTable>>
  const placesOf = (copy: Copy) => new Set([...copy].map(({ partition }) => partition))
  const untilCopied = (copy: Copy, places: readonly number[]) =>
    vi.waitFor(() => expect(placesOf(copy)).toEqual(new Set(places)), SOON)
  await write([0, 1])
  const before = await vi.waitFor(copyTable, SOON)
  await untilCopied(before, [0, 1])

  const resume = stopBroker(2)
  await vi.waitFor(
    async () => expect((await readKnownEnds(clientOf(1), table, TABLE.lost)).ends[1]).toBeUndefined(),
    SOON,
  )
  const after = await copyTable()
  let isReady = false
  const ready = after.ready.then(() => {
    isReady = true
  })
  ready.catch(() => {})
  await write([2])
  await untilCopied(before, [0, 1, 2])
  await untilCopied(after, [0, 2])
  expect(isReady).toBe(false)

  resume()
  await untilCopied(after, [0, 1, 2])
  await ready
})

it('consumes the partitions that have a leader, also with a member that joins meanwhile', async () => {
  const topic = await createUnreplicatedTopic()
  const appender = openAppender(topic)
  const [groupId, events] = [newGroup(), [] as PlantCreated[]]
  const join = () => consumeInto(topic, { brokers: cluster.brokers.split(','), groupId }, events)
  let id = 0n
  async function createAndConsume(partition: number): Promise<void> {
    let event = newEvent(++id, NODE_IDS.length)
    while (event.partition !== partition) event = newEvent(++id, NODE_IDS.length)
    await vi.waitFor(() => appender.append([event]), SOON)
    await vi.waitFor(() => expect(events.map((each) => each.id)).toContain(id), SOON)
  }
  // A broker that does not know the topic yet refuses the consumer.
  const first = await vi.waitFor(join, SOON)
  for (const partition of [0, 1, 2]) await createAndConsume(partition)
  // The group's position; the next member continues there.
  await vi.waitFor(() => expect(first.positions().size).toBe(3), SOON)

  const resume = stopBroker(2)
  await vi.waitFor(async () => expect((await readKnownEnds(clientOf(1), topic)).ends[1]).toBeUndefined(), SOON)
  const second = await vi.waitFor(join, SOON)
  await vi.waitFor(
    () => expect([first, second].map(({ positions }) => positions().size > 0)).toEqual([true, true]),
    SOON,
  )
  for (const partition of [0, 2]) await createAndConsume(partition)
  await first.waitFor('2-1')

  resume()
  await createAndConsume(1)
})

it('replays and follows in the same session when a partition gets another leader', async () => {
  const [topic, kafka, partitions] = [await createUnreplicatedTopic(), clientOf(1), NODE_IDS.length]
  const [moved, replayed] = [0, 1] as [Partition, Partition]
  const appender = openAppender(topic)
  const largeRecord = { ...recordOf(replayed), value: Buffer.alloc(REPLAY_FETCHES.maxBytesPerPartition) }
  for (const record of [...Array(LARGE_RECORDS).fill(largeRecord), recordOf(moved)]) {
    await vi.waitFor(() => appender.append([record]), SOON)
  }
  const assigned = vi.fn(() => readKnownEnds(kafka, topic))
  const follower = followLog({ kafka, topic, partitions }, { ends: assigned })
  await follower.untilAtEnd()

  const offsets: Offset[][] = [[], []]
  async function move(): Promise<void> {
    const topics = [{ topic, partitionAssignment: [{ partition: moved, replicas: [3] }] }]
    const operator = createKafka(cluster.brokers.split(','), 'operator', quietLog)
    await withAdmin(operator, (admin) => admin.alterPartitionReassignments({ topics }))
    await appendAndFollow(appender, moved, [follower])
    await vi.waitFor(() => expect(offsets[moved]).toHaveLength(2), SOON)
  }
  const replayAssigned = vi.fn(() => readEnds(kafka, topic))
  await replay({
    ...{ kafka, topic, partitions, log: quietLog, time: systemTime, ends: replayAssigned },
    ranges: new Map([
      [moved, { from: BEFORE_LOG, end: offsetOf(2) }],
      [replayed, { from: BEFORE_LOG, end: offsetOf(LARGE_RECORDS) }],
    ]),
    read: ({ offset }) => ({ offset }),
    async onRecords(partition, records) {
      if (partition === replayed && offsets[replayed]?.length === 0) await move()
      offsets[partition]?.push(...records.map(({ offset }) => offset))
    },
  })
  expect(offsets).toEqual([2, LARGE_RECORDS].map((length) => Array.from({ length }, (_, offset) => offset)))
  for (const partition of allPartitions(partitions)) await appendAndFollow(appender, partition, [follower])
  expect([assigned, replayAssigned].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
})
