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

const failed = (fields: object = {}) => Object.assign(new Error('failed'), fields)
const never = new Promise<never>(() => {})

type Moved = { nodeIds?: string[]; found?: 1 | 2 | 'none'; memberId?: string | null }

/** A group whose coordinator has moved, unless another one is `found`; the former one reacts to a request in this way. */
function movedGroup(react: () => Promise<void>, { nodeIds = ['1', '2'], found = 2, memberId = 'member' }: Moved = {}) {
  const former = { nodeId: '1', heartbeat: react, leaveGroup: react }
  const brokers = { 1: former, 2: { nodeId: '2', heartbeat: async () => {} } }
  const group = createGroup({
    ...{ brokerPool: { brokers }, getNodeIds: () => nodeIds, refreshMetadata: async () => {} },
    async findGroupCoordinatorMetadata() {
      if (found === 'none') throw new Error('not retriable')
      return { coordinator: { nodeId: found } }
    },
    findGroupCoordinator: async () => brokers[found as 1 | 2],
  })
  return Object.assign(group, { memberId, coordinator: former, offsetManager: { coordinator: former } })
}

it.each<[string, object, Moved, number]>([
  ['cannot be reached', {}, {}, 1],
  ['is the coordinator no more', { type: 'NOT_COORDINATOR_FOR_GROUP' }, {}, 1],
  ['has left the cluster', {}, { nodeIds: ['2'] }, 0],
])('heartbeats and commits go to the new coordinator when the former one %s', async (_, fields, moved, requests) => {
  const former = vi.fn(() => Promise.reject(failed(fields)))
  const group = movedGroup(former, moved)
  await group.heartbeat({ interval: 0 })
  expect(group).toMatchObject({ coordinator: { nodeId: '2' }, offsetManager: { coordinator: { nodeId: '2' } } })
  expect(former).toHaveBeenCalledTimes(requests)
})

it.each<[string, Error, Moved]>([
  ['the group expels the member', failed({ type: 'UNKNOWN_MEMBER_ID' }), {}],
  ['the coordinator cannot be reached and is the same', failed(), { found: 1 }],
  ['the coordinator cannot be reached and none is found', failed(), { found: 'none' }],
])('a heartbeat fails with its own error when %s', async (_, error, moved) => {
  await expect(movedGroup(() => Promise.reject(error), moved).heartbeat({ interval: 0 })).rejects.toBe(error)
})

it('a heartbeat fails after the group has expelled the member, which makes it join again', async () => {
  const heartbeat = movedGroup(vi.fn(), { memberId: null }).heartbeat({ interval: 0 })
  await expect(heartbeat).rejects.toMatchObject({ type: 'UNKNOWN_MEMBER_ID' })
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

it('a late heartbeat does not delay the fetches; the next one fails with its error, or is sent after its success', async () => {
  const error = failed({ type: 'REBALANCE_IN_PROGRESS' })
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const react = vi.fn(() => second.promise).mockReturnValueOnce(first.promise)
  const group = movedGroup(react)
  await group.heartbeat({ interval: 0 })
  first.reject(error)
  await expect(group.heartbeat({ interval: 0 })).rejects.toBe(error)
  await group.heartbeat({ interval: 0 })
  second.resolve()
  await turn()
  await group.heartbeat({ interval: 0 })
  expect(react).toHaveBeenCalledTimes(3)
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

const LOOKS_MAX = 1_000

it('a consumer ends that is stopped while the brokers change', async () => {
  let [nodeIds, looks] = [['1', '2'], 0]
  const fetched = Promise.withResolvers<void>()
  const consumerGroup = {
    ...{ connect: async () => {}, joinAndSync: async () => {}, heartbeat: async () => {}, leave: async () => {} },
    getNodeIds() {
      // The test could not fail in a loop without an end.
      if (++looks === LOOKS_MAX) throw new Error('too many looks')
      return nodeIds
    },
    async fetch(nodeId: string) {
      await (nodeId === '1' ? fetched.promise : turn())
      return []
    },
  }
  const runner = new Runner({ logger, consumerGroup, instrumentationEmitter, onCrash() {}, concurrency: 1 })
  await runner.start()
  nodeIds = ['1']
  for (let before = -1; before < looks; await turn()) before = looks
  const stopped = runner.stop()
  fetched.resolve()
  await stopped
  expect(looks).toBeLessThan(LOOKS_MAX)
})

describe('a broker that does not respond and leaves the cluster', () => {
  function openGroup() {
    const { promise: never, reject } = Promise.withResolvers<never>()
    const connectionPool = { host: 'kafka-2', port: 9092, pool: [{ openedAt: 0, drop: reject }] }
    const coordinator = { nodeId: '2', connectionPool, heartbeat: () => never }
    const brokers: Record<string, object> = { 1: {}, 2: coordinator }
    const group = createGroup({
      ...{ brokerPool: { brokers }, getNodeIds: () => Object.keys(brokers) },
      refreshMetadata: async () => void delete brokers[2],
      refreshMetadataIfNecessary: () => never,
      findGroupCoordinator: async () => 'the new one',
      findGroupCoordinatorMetadata: async () => ({ coordinator: { nodeId: 1 } }),
    })
    return Object.assign(group, { maxWaitTime: 0, memberId: 'member', coordinator })
  }

  it('ends a fetch', async () => {
    expect(await openGroup().fetch('2')).toEqual([])
  })

  it('ends a heartbeat', async () => {
    const group = openGroup()
    await group.heartbeat({ interval: 0 })
    await vi.waitFor(() => expect(group.coordinator).toBe('the new one'))
  })
})

it('a group is left although its coordinator does not respond', async () => {
  await expect(movedGroup(() => never).leave()).resolves.toBeUndefined()
})

const preferredReplica = () => ({ plants: { 0: { nodeId: 2, expireAt: Infinity } } })

it.each([
  ['the replica', 'is among the brokers', { brokers: ['1', '2'], offlineReplicas: [] }, 2, Infinity],
  ['the leader', 'has left the cluster', { brokers: ['1', '3'], offlineReplicas: [] }, 1, null],
  ['the leader', 'is offline', { brokers: ['1', '2'], offlineReplicas: [2] }, 1, null],
])('%s is read when the preferred replica %s', (_, __, { brokers, offlineReplicas }, read, metadataExpireAt) => {
  const brokerPool = { metadataExpireAt: Infinity }
  const findTopicPartitionMetadata = () => [{ partitionId: 0, leader: 1, leaderEpoch: 7, offlineReplicas }]
  const ledBy = vi.fn()
  const group = createGroup({ brokerPool, findTopicPartitionMetadata, getNodeIds: () => brokers, reader: { ledBy } })
  group.preferredReadReplicasPerTopicPartition = preferredReplica()
  expect(group.findReadReplicaForPartitions('plants', [0])).toEqual({ [read]: [0] })
  expect(brokerPool).toEqual({ metadataExpireAt })
  expect(ledBy).toHaveBeenCalledWith(0, 7)
})

const outOfRangeError = new KafkaJSOffsetOutOfRange(new Error('out of range'), { topic: 'plants', partition: 0 })

it.each([
  ['less than the leader', outOfRangeError, preferredReplica(), { joins: 0, told: [] }],
  ['the partition no more', failed({ type: 'NOT_LEADER_FOR_PARTITION' }), preferredReplica(), { joins: 0, told: [] }],
  ['another topic', failed({ type: 'UNKNOWN_TOPIC_OR_PARTITION' }), preferredReplica(), { joins: 1, told: [] }],
  ['no preference, so the reader is told', outOfRangeError, {}, { joins: 0, told: [[0]] }],
])('the leader is asked when the preferred replica has %s', async (_, error, preferred, { joins, told }) => {
  const outOfRange = vi.fn()
  const group = createGroup({ refreshMetadata: async () => {}, brokerPool: {}, reader: { outOfRange } })
  const joinAndSync = vi.fn(async () => {})
  Object.assign(group, { preferredReadReplicasPerTopicPartition: preferred, joinAndSync })
  await group.recoverFromFetch(error)
  expect(group.preferredReadReplicasPerTopicPartition).toEqual({})
  expect(outOfRange.mock.calls).toEqual(told)
  expect(joinAndSync).toHaveBeenCalledTimes(joins)
})

describe('with time that passes only when the test says so', () => {
  beforeEach(() => fakeTimers())

  const RACK_AGAIN_AFTER_MS = 300_000
  const refused = (nodeId: number) => new KafkaJSConnectionError('refused', { broker: `broker-${nodeId}:9092` })

  const retried = Object.assign(new Error('retries', { cause: refused(2) }), { name: 'KafkaJSNumberOfRetriesExceeded' })
  const silent = new KafkaJSRequestTimeoutError('timed out', { broker: 'broker-2:9092' })

  it.each([
    ['is the replica of the rack', refused(2), ['here', '', '', 'here']],
    ['is that one, after retries', retried, ['here', '', '', 'here']],
    ['is that one, and does not respond', silent, ['here', '', '', 'here']],
    ['is a leader', refused(1), ['here', 'here', 'here', 'here']],
    ['is any, without a rack', refused(2), ['', '', '', '']],
  ])('a broker that cannot be connected to, and %s', async (_, error, [rackId, ...later]) => {
    const brokers = [1, 2].map((nodeId) => ({ nodeId, host: `broker-${nodeId}`, port: 9092 }))
    const findTopicPartitionMetadata = () => [{ partitionId: 0, leader: 1, offlineReplicas: [] }]
    const brokerPool = { metadataExpireAt: Infinity, metadata: { brokers } }
    const group = createGroup({ brokerPool, findTopicPartitionMetadata, getNodeIds: () => ['1', '2'] })
    Object.assign(group, { preferredReadReplicasPerTopicPartition: preferredReplica(), rackId })
    const recovered = group.recoverFromFetch(error)
    await vi.advanceTimersByTimeAsync(1_000)
    await recovered
    const rackAfter = (ms: number) => {
      vi.advanceTimersByTime(ms)
      group.findReadReplicaForPartitions('plants', [0])
      return group.rackId
    }
    expect([rackAfter(0), rackAfter(RACK_AGAIN_AFTER_MS - 1_001), rackAfter(1)]).toEqual(later)
  })

  const RETRIES = 5
  const LONG_MS = 60_000
  const lost = new KafkaJSConnectionError('lost')

  it.each([
    ['crash the consumer when six follow each other', 1_000, lost, [RETRIES + 1, 1]],
    ['do not when a minute of fetching is before each', LONG_MS, lost, [12, 0]],
    ['crash it at once when another fetch would not change them', LONG_MS, failed({ retriable: false }), [1, 1]],
  ])('the errors of fetches %s', async (_what, failsAfterMs, error, counts) => {
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
    expect([fetch.mock.calls.length, onCrash.mock.calls.length]).toEqual(counts)
  })
})
