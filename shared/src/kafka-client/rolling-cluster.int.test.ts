import { expect, it } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { fetchFrom, openBrokers, openConsumer } from '../../../tests/support/scripted-broker.ts'
import type { TopicId } from './topic-id.ts'

const [FETCH, METADATA] = [1, 3]
const PATIENT = { requestTimeout: 5_000, connectionTimeout: 5_000 }

/** The cluster of a consumer that knows the id of the topic. */
async function connectCluster(address: string) {
  const { consumer, cluster } = await openConsumer(createImpatientKafka(address, PATIENT))
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
