import type { KafkaConfig } from 'kafkajs'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import {
  type Address,
  fetchFrom,
  openBroker,
  openBrokers,
  openConsumer,
} from '../../../tests/support/scripted-broker.ts'
import { createTestTopic } from '../../../tests/support/topic.ts'
import { kafkajs } from './kafkajs.ts'
import type { TopicId } from './topic-id.ts'

const [FETCH, METADATA, COORDINATOR, HANDSHAKE, API_VERSIONS, AUTHENTICATE] = [1, 3, 10, 17, 18, 36]
const PARTITIONS = 2
/** Longer than the time limit of a test. */
const NEVER_MS = 600_000
const SOON = { timeout: 10_000, interval: 20 }

function clientOf(brokers: string[], options: Partial<KafkaConfig> = {}) {
  const settings = { logLevel: kafkajs.logLevel.NOTHING, retry: { retries: 0 }, connectionTimeout: NEVER_MS }
  return new kafkajs.Kafka({ brokers, requestTimeout: NEVER_MS, ...settings, ...options })
}

function openAdmin(brokers: string[], options: Partial<KafkaConfig> = {}) {
  const admin = clientOf(brokers, options).admin()
  onTestFinished(() => admin.disconnect())
  return admin
}

it('a client connects while the first bootstrap broker does not respond', async () => {
  const { topic } = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const { address, connections } = await openBroker({ isSilent: () => true })
  const admin = openAdmin([address, address, inject('kafkaBrokers')])
  await admin.connect()
  expect(await admin.fetchTopicOffsets(topic)).toHaveLength(PARTITIONS)
  await vi.waitFor(() => expect(connections()).toBe(0), SOON)
})

it.each([
  ['the request of its versions', API_VERSIONS],
  ['the login', HANDSHAKE],
])('an attempt to connect ends when the broker does not respond to %s', async (_what, silent) => {
  const highest = { [HANDSHAKE]: 1, [AUTHENTICATE]: 1, [METADATA]: 10 }
  const broker = await openBroker({ highest, isSilent: (apiKey) => apiKey === silent })
  const sasl = { mechanism: 'plain', username: 'plants', password: 'secret' } as const
  const admin = openAdmin([broker.address], { connectionTimeout: 2_000, sasl })
  await expect(admin.connect()).rejects.toMatchObject({ cause: { name: 'KafkaJSConnectionError', code: 'ETIMEDOUT' } })
  expect(broker.requests.at(-1)?.apiKey).toBe(silent)
  await vi.waitFor(() => expect(broker.connections()).toBe(0), SOON)
})

/**
 * A client that is connected to two brokers, of which the first one that gets a request of this kind is silent. If that
 * is one for metadata, the requests of the other broker no longer have it.
 */
async function openPair(kind: number, options: Partial<KafkaConfig> = {}) {
  const highest = { [FETCH]: 11, [METADATA]: 10, [COORDINATOR]: 0 }
  let isConnected = false
  let silent: number | undefined
  const isSilent = (nodeId: number) => (apiKey: number) => {
    if (isConnected && apiKey === kind) silent ??= nodeId
    return silent === nodeId && apiKey === kind
  }
  const lists = ({ nodeId }: Address) => kind !== METADATA || nodeId !== silent
  const [first, second] = await openBrokers(
    { highest, lists, isSilent: isSilent(1) },
    { highest, lists, isSilent: isSilent(2) },
  )
  const { cluster } = await openConsumer(clientOf([first.address], options))
  await cluster.findBroker({ nodeId: '2' })
  isConnected = true
  /** A client waits for its requests when it disconnects. */
  function cut(): void {
    first.cut()
    second.cut()
  }
  return { cluster, first, second, cut }
}

it('a broker that does not respond, and is replaced, does not delay the metadata of another one', async () => {
  const { cluster, cut } = await openPair(METADATA)
  await cluster.refreshMetadata()
  cut()
})

it('another broker is asked for the coordinator of a group when the first one does not respond', async () => {
  const { cluster, cut } = await openPair(COORDINATOR)
  const find = cluster as unknown as { findGroupCoordinatorMetadata(group: object): Promise<unknown> }
  expect(await find.findGroupCoordinatorMetadata({ groupId: 'plants', coordinatorType: 0 })).toMatchObject({
    coordinator: { nodeId: 1 },
  })
  cut()
})

it('all connections to a broker end when it does not respond to a request, and the next request connects', async () => {
  const { cluster, first, second } = await openPair(FETCH, { requestTimeout: 2_000 })
  await expect(fetchFrom(cluster, '2')).rejects.toMatchObject({ name: 'KafkaJSRequestTimeoutError' })
  await vi.waitFor(() => expect(second.connections()).toBe(0), SOON)
  expect(first.connections()).toBe(1)
  await expect(fetchFrom(cluster, '2')).rejects.toMatchObject({ name: 'KafkaJSRequestTimeoutError' })
})

it('a response that a lost connection left incomplete does not damage those of the next connection', async () => {
  const { cluster, second } = await openPair(COORDINATOR)
  second.cutNextResponse(6)
  await expect(fetchFrom(cluster, '2')).rejects.toMatchObject({ name: 'KafkaJSConnectionClosedError' })
  expect(await fetchFrom(cluster, '2')).toMatchObject({ responses: [] })
})

it('two requests that find no connection share a new one', async () => {
  const { cluster, second } = await openPair(COORDINATOR)
  await Promise.all([fetchFrom(cluster, '2'), fetchFrom(cluster, '2')])
  expect(second.connections()).toBe(2)
})

/** The cluster of a consumer that knows the id of the topic. */
async function connectCluster(address: string) {
  const { consumer, cluster } = await openConsumer(clientOf([address]))
  consumer.readFor({ topicIdOf: () => 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId })
  return cluster
}

it('a leader that is not upgraded yet gets requests of a version that it supports', async () => {
  const [upgraded, old] = await openBrokers(
    { highest: { [FETCH]: 13, [METADATA]: 10 } },
    { highest: { [FETCH]: 12, [METADATA]: 10 } },
  )
  const cluster = await connectCluster(upgraded.address)
  const failure = await fetchFrom(cluster, '2').catch((error: unknown) => error)
  expect(old.requests.filter(({ apiKey }) => apiKey === FETCH)).toEqual([{ apiKey: FETCH, version: 11 }])
  expect(failure).not.toBeInstanceOf(Error)
})

it('asks a broker again for its versions after it was upgraded at the same address', async () => {
  const highest = { [FETCH]: 12, [METADATA]: 10 }
  const [broker] = await openBrokers({ highest })
  const cluster = await connectCluster(broker.address)
  await fetchFrom(cluster, '1')
  highest[FETCH] = 13
  broker.cut()
  await eventually(() => expect(cluster.isConnected()).toBe(false))
  // The broker of this test does not know the response.
  await fetchFrom(cluster, '1').catch(() => {})
  const versions = broker.requests.filter(({ apiKey }) => apiKey === FETCH).map(({ version }) => version)
  expect(versions).toEqual([11, 13])
})
