import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { listen } from '../../../tests/support/listen.ts'
import { type Address, openBroker } from '../../../tests/support/scripted-broker.ts'
import { withAdmin } from '../event-log/connection.ts'

const [OFFSETS, METADATA] = [2, 3]
const HIGHEST = { [OFFSETS]: 2, [METADATA]: 10 }
const nobodyListens = async () => 1
const openSilent = async () =>
  (
    await openBroker(
      HIGHEST,
      () => [],
      (apiKey) => apiKey === OFFSETS,
    )
  ).port
/** As a proxy before a broker that is away. */
const openClosing = () => listen(createServer((socket) => socket.destroy()))

/** The ends of the partitions for an admin, with partition 1 led by broker 2, which is at the port that `open` returns. */
async function readEnds(open: () => Promise<number>, { leader = 1, isAllowed = true } = {}) {
  const addresses: Address[] = []
  const known = { leader, leaderEpoch: 1, end: 100, otherLeader: 2 }
  const { port } = await openBroker(HIGHEST, () => addresses, undefined, known)
  addresses.push({ nodeId: 1, port }, { nodeId: 2, port: await open() })
  const kafka = createImpatientKafka(`127.0.0.1:${port}`, { requestTimeout: 2_000, connectionTimeout: 10_000 })
  return withAdmin(kafka, async (admin) => {
    if (isAllowed) admin.allowLeaderless()
    const ends = (await admin.fetchTopicOffsets('plants')).map(({ partition, high }) => [partition, high])
    return { ends, unreachable: admin.unreachable()?.name }
  })
}

it.each([
  ['refuses connections', nobodyListens, 'KafkaJSConnectionError'],
  ['closes connections', openClosing, 'KafkaJSNumberOfRetriesExceeded'],
  ['does not respond', openSilent, 'KafkaJSRequestTimeoutError'],
])('a leader that %s leaves the ends of the other partitions known', async (_what, open, unreachable) => {
  expect(await readEnds(open)).toEqual({ ends: [[0, '100']], unreachable })
})

it('it is an error for an admin that needs all ends, and when no leader responds', async () => {
  const refused = { name: 'KafkaJSConnectionError' }
  await expect(readEnds(nobodyListens, { isAllowed: false })).rejects.toMatchObject(refused)
  await expect(readEnds(nobodyListens, { leader: 2 })).rejects.toMatchObject(refused)
})
