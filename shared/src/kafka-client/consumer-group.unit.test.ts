import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { kafkajsModule } from './kafkajs.ts'

const ConsumerGroup = kafkajsModule('src/consumer/consumerGroup.js')
const Runner = kafkajsModule('src/consumer/runner.js')
const { KafkaJSConnectionError, KafkaJSOffsetOutOfRange, KafkaJSRequestTimeoutError } = kafkajsModule('src/errors.js')
const logger = { namespace: () => logger, debug() {}, info() {}, error() {} }
const instrumentationEmitter = { emit() {} }

const createGroup = (cluster: object) =>
  new ConsumerGroup({ groupId: 'plants', cluster, logger, instrumentationEmitter })

type Moved = { nodeIds?: string[]; isSame?: boolean }

/** A group whose coordinator has moved, unless `isSame`, and whose former one reacts to a request in this way. */
function movedGroup(react: () => Promise<void>, { nodeIds = ['1', '2'], isSame = false }: Moved = {}) {
  const former = { nodeId: '1', heartbeat: react, leaveGroup: react }
  const brokers = { 1: former, 2: { nodeId: '2', heartbeat: async () => {} } }
  const nodeId = isSame ? 1 : 2
  const group = createGroup({
    ...{ brokerPool: { brokers }, getNodeIds: () => nodeIds, refreshMetadata: async () => {} },
    findGroupCoordinatorMetadata: async () => ({ coordinator: { nodeId } }),
    findGroupCoordinator: async () => brokers[nodeId],
  })
  return Object.assign(group, { memberId: 'member', coordinator: former, offsetManager: { coordinator: former } })
}

it.each<[string, object, Moved, number]>([
  ['cannot be reached', {}, {}, 1],
  ['is the coordinator no more', { type: 'NOT_COORDINATOR_FOR_GROUP' }, {}, 1],
  ['has left the cluster', {}, { nodeIds: ['2'] }, 0],
])('heartbeats and commits go to the new coordinator when the former one %s', async (_, fields, moved, requests) => {
  const former = vi.fn(() => Promise.reject(Object.assign(new Error('failed'), fields)))
  const group = movedGroup(former, moved)
  await group.heartbeat({ interval: 0 })
  expect(group).toMatchObject({ coordinator: { nodeId: '2' }, offsetManager: { coordinator: { nodeId: '2' } } })
  expect(former).toHaveBeenCalledTimes(requests)
})

it.each<[string, object, Moved]>([
  ['the group has expelled the member', { type: 'UNKNOWN_MEMBER_ID' }, {}],
  ['the coordinator cannot be reached and is the same', {}, { isSame: true }],
])('a heartbeat fails when %s', async (_, fields, moved) => {
  const error = Object.assign(new Error('failed'), fields)
  await expect(movedGroup(() => Promise.reject(error), moved).heartbeat({ interval: 0 })).rejects.toBe(error)
})

it('a heartbeat fails after the group has expelled the member, which makes it join again', async () => {
  const group = Object.assign(movedGroup(vi.fn()), { memberId: null })
  await expect(group.heartbeat({ interval: 0 })).rejects.toMatchObject({ type: 'UNKNOWN_MEMBER_ID' })
})

it('a heartbeat fails with its own error when no coordinator is found', async () => {
  const error = new Error('no connection')
  const group = movedGroup(() => Promise.reject(error))
  group.cluster.findGroupCoordinatorMetadata = () => Promise.reject(new Error('not retriable'))
  await expect(group.heartbeat({ interval: 0 })).rejects.toBe(error)
})

it.each([-3_600_000, 3_600_000])('heartbeats keep their interval when the clock jumps by %d ms', async (jumpMs) => {
  onTestFinished(fakeTimers())
  const react = vi.fn(async () => {})
  const group = movedGroup(react)
  const heartbeatsAfter = async (ms: number) => {
    vi.advanceTimersByTime(ms)
    await group.heartbeat({ interval: 2_000 })
    return react.mock.calls.length
  }
  vi.setSystemTime(Date.now() + jumpMs)
  expect([await heartbeatsAfter(1_999), await heartbeatsAfter(1)]).toEqual([0, 1])
})

it('a heartbeat without a response does not delay the fetches, and the next one fails with its error', async () => {
  const { promise, reject } = Promise.withResolvers<void>()
  const error = Object.assign(new Error('failed'), { type: 'REBALANCE_IN_PROGRESS' })
  const group = movedGroup(() => promise)
  await group.heartbeat({ interval: 0 })
  reject(error)
  await expect(group.heartbeat({ interval: 0 })).rejects.toBe(error)
})

it('a heartbeat that was late and succeeded does not stand for the next one', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const react = vi.fn(() => promise)
  const group = movedGroup(react)
  await group.heartbeat({ interval: 0 })
  resolve()
  await turn()
  await group.heartbeat({ interval: 0 })
  expect(react).toHaveBeenCalledTimes(2)
})

it('a group is joined as the member of the consumer before, but not again after it has expelled that member', async () => {
  type JoinGroup = (call: { memberId: string }) => Promise<object>
  const joinGroup = vi.fn<JoinGroup>(async () => ({ memberId: 'member', generationId: 1 }))
  const syncGroup = async () => ({ memberAssignment: Buffer.alloc(0) })
  const membership = { groupId: 'plants', memberId: 'member' }
  const findGroupCoordinator = async () => ({ joinGroup, syncGroup })
  const group = createGroup({ reader: { membership }, findGroupCoordinator, committedOffsets: () => ({}) })
  Object.assign(group, { assigners: [], topics: [], topicsSubscribed: [] })
  await group.joinAndSync()
  // As kafkajs does then.
  group.memberId = null
  await group.joinAndSync()
  expect(joinGroup.mock.calls.map(([{ memberId }]) => memberId)).toEqual(['member', ''])
})

const LINES_MAX = 1_000

it('a consumer ends that is stopped while the brokers change', async () => {
  let nodeIds = ['1', '2']
  const fetched = Promise.withResolvers<void>()
  const consumerGroup = {
    ...{
      connect: async () => {},
      joinAndSync: async () => {},
      heartbeat: async () => {},
      leave: vi.fn(async () => {}),
    },
    getNodeIds: () => nodeIds,
    fetch: vi.fn(async (nodeId: string) => {
      await (nodeId === '1' ? fetched.promise : turn())
      return []
    }),
  }
  let lines = 0
  function debug(): void {
    // The test could not fail in a loop without an end.
    if (++lines === LINES_MAX) throw new Error('too many lines')
  }
  const own = { ...logger, namespace: () => own, debug }
  const runner = new Runner({ logger: own, consumerGroup, instrumentationEmitter, onCrash() {}, concurrency: 1 })
  await runner.start()
  await vi.waitFor(() => expect(consumerGroup.fetch.mock.calls.length).toBeGreaterThan(2))
  nodeIds = ['1']
  const fetches = () => consumerGroup.fetch.mock.calls.length
  for (let before = -1; before < fetches(); await turn()) before = fetches()
  const stopped = runner.stop()
  fetched.resolve()
  await stopped
  expect(lines).toBeLessThan(LINES_MAX)
  expect(consumerGroup.leave).toHaveBeenCalledOnce()
})

/** A cluster in which broker 2, to which all requests are sent, does not respond, and which it soon leaves. */
function clusterLeft() {
  const { promise: never, reject } = Promise.withResolvers<never>()
  const connectionPool = { host: 'kafka-2', port: 9092, pool: [{ openedAt: 0, drop: reject }] }
  const broker = { nodeId: '2', connectionPool, heartbeat: () => never }
  const brokers: Record<string, object> = { 1: {}, 2: broker }
  const refreshMetadata = async () => void delete brokers[2]
  const getNodeIds = () => Object.keys(brokers)
  const findGroupCoordinator = async () => 'the new one'
  const findGroupCoordinatorMetadata = async () => ({ coordinator: { nodeId: 1 } })
  const refreshMetadataIfNecessary = () => never
  const found = { findGroupCoordinator, findGroupCoordinatorMetadata }
  return {
    broker,
    cluster: { refreshMetadata, refreshMetadataIfNecessary, getNodeIds, ...found, brokerPool: { brokers } },
  }
}

it('a fetch ends when its broker does not respond and has left the cluster', async () => {
  const { cluster } = clusterLeft()
  const group = Object.assign(createGroup(cluster), { maxWaitTime: 0 })
  expect(await group.fetch('2')).toEqual([])
})

it('a heartbeat ends when the coordinator does not respond and has left the cluster', async () => {
  const { broker, cluster } = clusterLeft()
  const group = Object.assign(createGroup(cluster), { memberId: 'member', coordinator: broker })
  await group.heartbeat({ interval: 0 })
  await vi.waitFor(() => expect(group.coordinator).toBe('the new one'))
})

it('a group is left although its coordinator does not respond', async () => {
  await expect(movedGroup(() => new Promise(() => {})).leave()).resolves.toBeUndefined()
})

it.each([
  ['the replica', 'is among the brokers', { brokers: ['1', '2'], offlineReplicas: [] }, 2, Infinity],
  ['the leader', 'has left the cluster', { brokers: ['1', '3'], offlineReplicas: [] }, 1, null],
  ['the leader', 'is offline', { brokers: ['1', '2'], offlineReplicas: [2] }, 1, null],
])('%s is read when the preferred replica %s', (_, __, { brokers, offlineReplicas }, read, metadataExpireAt) => {
  const brokerPool = { metadataExpireAt: Infinity }
  const findTopicPartitionMetadata = () => [{ partitionId: 0, leader: 1, leaderEpoch: 7, offlineReplicas }]
  const ledBy = vi.fn()
  const group = createGroup({ brokerPool, findTopicPartitionMetadata, getNodeIds: () => brokers, reader: { ledBy } })
  group.preferredReadReplicasPerTopicPartition = { plants: { 0: { nodeId: 2, expireAt: Infinity } } }
  expect(group.findReadReplicaForPartitions('plants', [0])).toEqual({ [read]: [0] })
  expect(brokerPool).toEqual({ metadataExpireAt })
  expect(ledBy).toHaveBeenCalledWith(0, 7)
})

it.each([
  [
    'less than the leader',
    new KafkaJSOffsetOutOfRange(new Error('out of range'), { topic: 'plants', partition: 0 }),
    0,
  ],
  ['the partition no more', Object.assign(new Error('moved'), { type: 'NOT_LEADER_FOR_PARTITION' }), 0],
  ['another topic', Object.assign(new Error('recreated'), { type: 'UNKNOWN_TOPIC_OR_PARTITION' }), 1],
])('the leader is asked when the preferred replica has %s', async (_, error, joins) => {
  const outOfRange = vi.fn()
  const group = createGroup({ refreshMetadata: async () => {}, brokerPool: {}, reader: { outOfRange } })
  const preferredReadReplicasPerTopicPartition = { plants: { 0: { nodeId: 2, expireAt: Infinity } } }
  const joinAndSync = vi.fn(async () => {})
  Object.assign(group, { preferredReadReplicasPerTopicPartition, joinAndSync })
  await group.recoverFromFetch(error)
  expect(group.preferredReadReplicasPerTopicPartition).toEqual({})
  expect(outOfRange).not.toHaveBeenCalled()
  expect(joinAndSync).toHaveBeenCalledTimes(joins)
})

describe('a broker that cannot be connected to', () => {
  const RACK_AGAIN_AFTER_MS = 300_000
  const brokers = [1, 2].map((nodeId) => ({ nodeId, host: `broker-${nodeId}`, port: 9092 }))
  const refused = (nodeId: number) => new KafkaJSConnectionError('refused', { broker: `broker-${nodeId}:9092` })
  const wrapped = Object.assign(new Error('retries', { cause: refused(2) }), { name: 'KafkaJSNumberOfRetriesExceeded' })

  beforeEach(() => fakeTimers())

  async function groupAfter(error: Error, rackId: string) {
    const findTopicPartitionMetadata = () => [{ partitionId: 0, leader: 1, offlineReplicas: [] }]
    const brokerPool = { metadataExpireAt: Infinity, metadata: { brokers } }
    const group = createGroup({ brokerPool, findTopicPartitionMetadata, getNodeIds: () => ['1', '2'] })
    group.preferredReadReplicasPerTopicPartition = { plants: { 0: { nodeId: 2, expireAt: Infinity } } }
    const recovered = Object.assign(group, { rackId }).recoverFromFetch(error)
    await vi.advanceTimersByTimeAsync(1_000)
    await recovered
    return group
  }

  it.each([
    ['is the replica of the rack', refused(2)],
    ['is that one, after retries', wrapped],
    ['is that one, and does not respond', new KafkaJSRequestTimeoutError('timed out', { broker: 'broker-2:9092' })],
  ])('is left for five minutes when it %s', async (_, error) => {
    const group = await groupAfter(error, 'here')
    const rackAfter = (ms: number) => {
      vi.advanceTimersByTime(ms)
      group.findReadReplicaForPartitions('plants', [0])
      return group.rackId
    }
    expect([rackAfter(0), rackAfter(RACK_AGAIN_AFTER_MS - 1_001), rackAfter(1)]).toEqual(['', '', 'here'])
  })

  it.each([
    ['a leader', refused(1), 'here'],
    ['any, without a rack', refused(2), ''],
  ])('leaves the rack as it is when it is %s', async (_, error, rackId) => {
    const group = await groupAfter(error, rackId)
    expect(group.rackId).toBe(rackId)
    vi.advanceTimersByTime(2 * RACK_AGAIN_AFTER_MS)
    group.findReadReplicaForPartitions('plants', [0])
    expect(group.rackId).toBe(rackId)
  })
})

it('a reader is told that the leader does not have the offset of a partition', async () => {
  const outOfRange = vi.fn()
  const error = new KafkaJSOffsetOutOfRange(new Error(), { topic: 'plants', partition: 0 })
  await createGroup({ reader: { outOfRange } }).recoverFromFetch(error)
  expect(outOfRange).toHaveBeenCalledWith(0)
})

describe('the errors of fetches', () => {
  beforeEach(() => fakeTimers())

  const RETRIES = 5
  const LONG_MS = 60_000

  /** The numbers of fetches that begin, and of crashes, when each fetch fails after this time. */
  async function fetchesOf(failsAfterMs: number, error: Error) {
    const onCrash = vi.fn()
    const fetch = vi.fn(() => new Promise((_, reject) => setTimeout(reject, failsAfterMs, error)))
    const consumerGroup = { connect: async () => {}, joinAndSync: async () => {}, getNodeIds: () => ['1'], fetch }
    const retry = { retries: RETRIES, initialRetryTime: 100, maxRetryTime: 2_000 }
    const runner = new Runner({ logger, consumerGroup, instrumentationEmitter, onCrash, retry, concurrency: 1 })
    await runner.start()
    await vi.advanceTimersByTimeAsync(10 * failsAfterMs + LONG_MS)
    const stopped = runner.stop()
    await vi.advanceTimersByTimeAsync(failsAfterMs)
    await stopped
    return { begun: fetch.mock.calls.length, crashes: onCrash.mock.calls.length }
  }

  const lost = new KafkaJSConnectionError('lost')
  const lasting = Object.assign(new Error('lasting'), { retriable: false })
  it.each([
    ['crash the consumer when six follow each other', 1_000, lost, { begun: RETRIES + 1, crashes: 1 }],
    ['do not when a minute of fetching is before each', LONG_MS, lost, { begun: 12, crashes: 0 }],
    ['crash it at once when another fetch would not change them', LONG_MS, lasting, { begun: 1, crashes: 1 }],
  ])('%s', async (_what, failsAfterMs, error, counts) => {
    expect(await fetchesOf(failsAfterMs, error)).toEqual(counts)
  })
})
