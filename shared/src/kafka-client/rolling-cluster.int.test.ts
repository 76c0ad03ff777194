import { expect, it } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { type Address, fetchFrom, openBroker, openCluster } from '../../../tests/support/scripted-broker.ts'
import { kafkajs } from './kafkajs.ts'
import type { TopicId } from './topic-id.ts'

const [FETCH, METADATA] = [1, 3]

/** The cluster of a consumer that knows the id of the topic. */
const connectCluster = (port: number) =>
  openCluster(
    new kafkajs.Kafka({ brokers: [`127.0.0.1:${port}`], logLevel: kafkajs.logLevel.NOTHING, retry: { retries: 0 } }),
    'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId,
  )

it('a leader that is not upgraded yet gets requests of a version that it supports', async () => {
  const addresses: Address[] = []
  const upgraded = await openBroker({ [FETCH]: 13, [METADATA]: 10 }, () => addresses)
  const old = await openBroker({ [FETCH]: 12, [METADATA]: 10 }, () => addresses)
  addresses.push({ nodeId: 1, port: upgraded.port }, { nodeId: 2, port: old.port })

  const cluster = await connectCluster(upgraded.port)
  const failure = await fetchFrom(cluster, '2').catch((error: unknown) => error)
  expect(old.requests.filter(({ apiKey }) => apiKey === FETCH)).toEqual([{ apiKey: FETCH, version: 11 }])
  expect(failure).not.toBeInstanceOf(Error)
})

it('asks a broker again for its versions after it was upgraded at the same address', async () => {
  const addresses: Address[] = []
  const highest = { [FETCH]: 12, [METADATA]: 10 }
  const broker = await openBroker(highest, () => addresses)
  addresses.push({ nodeId: 1, port: broker.port })
  const cluster = await connectCluster(broker.port)
  await fetchFrom(cluster, '1')
  highest[FETCH] = 13
  broker.cut()
  await eventually(() => expect(cluster.isConnected()).toBe(false))
  // The broker of this test does not know the response.
  await fetchFrom(cluster, '1').catch(() => {})
  const versions = broker.requests.filter(({ apiKey }) => apiKey === FETCH).map(({ version }) => version)
  expect(versions).toEqual([11, 13])
})
