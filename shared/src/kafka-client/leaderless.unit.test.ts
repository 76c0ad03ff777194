import { createServer } from 'node:net'
import type { Kafka } from 'kafkajs'
import { expect, it } from 'vitest'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { listen } from '../../../tests/support/listen.ts'
import { type Address, openBroker } from '../../../tests/support/scripted-broker.ts'
import { withAdmin } from '../event-log/connection.ts'
import { offsetsAt } from '../event-log/topic.ts'
import { checkRights } from '../event-log/topic-rights.ts'

const OFFSETS = 2
const NO_LEADER = -1
const nobodyListens = async () => 1
const openSilent = async () => (await openBroker({ isSilent: (apiKey) => apiKey === OFFSETS })).port
/** As a proxy before a broker that is away. */
const openClosing = () => listen(createServer((socket) => socket.destroy()))

/** A client of brokers of which broker 2, which leads partition 1 unless given, is at the port that `open` returns. */
async function connectTo(open: () => Promise<number>, { leader = 1, otherLeader = 2 } = {}) {
  const addresses: Address[] = []
  const known = { leader, leaderEpoch: 1, end: 100, otherLeader }
  const { port, address } = await openBroker({ known }, addresses)
  addresses.push({ nodeId: 1, port }, { nodeId: 2, port: await open() })
  return createImpatientKafka(address, { requestTimeout: 2_000, connectionTimeout: 10_000 })
}

const readEnds = (kafka: Kafka) =>
  withAdmin(kafka, async (admin) => {
    const ends = (await admin.fetchTopicOffsets('plants')).map(({ partition, high }) => [partition, high])
    return { ends, unreachable: admin.unreachable()?.name }
  })

it.each([
  ['refuses connections', nobodyListens, 'KafkaJSConnectionError'],
  ['closes connections', openClosing, 'KafkaJSNumberOfRetriesExceeded'],
  ['does not respond', openSilent, 'KafkaJSRequestTimeoutError'],
])('a leader that %s leaves the ends of the other partitions known', async (_what, open, unreachable) => {
  expect(await readEnds(await connectTo(open))).toEqual({ ends: [[0, '100']], unreachable })
})

it('it is an error where all offsets are needed, and when no leader responds', async () => {
  const refused = { name: 'KafkaJSConnectionError' }
  await expect(offsetsAt(await connectTo(nobodyListens), 'plants', 0)).rejects.toMatchObject(refused)
  await expect(readEnds(await connectTo(nobodyListens, { leader: 2 }))).rejects.toMatchObject(refused)
})

it('the rights on a topic are known while one of its partitions has no leader', async () => {
  const kafka = await connectTo(nobodyListens, { otherLeader: NO_LEADER })
  await withAdmin(kafka, (admin) => checkRights(admin, 'plants', ['Read', 'Write']))
})
