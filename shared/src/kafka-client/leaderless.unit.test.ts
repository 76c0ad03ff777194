import { expect, it } from 'vitest'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { type Address, openBroker } from '../../../tests/support/scripted-broker.ts'
import { withAdmin } from '../event-log/connection.ts'

const [OFFSETS, METADATA] = [2, 3]
/** Nothing listens here. */
const NOWHERE = 1

/** The ends of the partitions for an admin; broker 2 leads partition 1, and listens nowhere unless it is silent. */
async function readEnds({ leader = 1, isSilent = false, isAllowed = true } = {}) {
  const highest = { [OFFSETS]: 2, [METADATA]: 10 }
  const known = { leader, leaderEpoch: 1, end: 100, otherLeader: 2 }
  const addresses: Address[] = []
  const { port } = await openBroker(highest, () => addresses, undefined, known)
  const silent = isSilent
    ? await openBroker(
        highest,
        () => addresses,
        (apiKey) => apiKey === OFFSETS,
        known,
      )
    : undefined
  addresses.push({ nodeId: 1, port }, { nodeId: 2, port: silent?.port ?? NOWHERE })
  const kafka = createImpatientKafka(`127.0.0.1:${port}`, { requestTimeout: 2_000, connectionTimeout: 10_000 })
  return withAdmin(kafka, async (admin) => {
    if (isAllowed) admin.allowLeaderless()
    const ends = (await admin.fetchTopicOffsets('plants')).map(({ partition, high }) => [partition, high])
    return { ends, unreachable: admin.unreachable()?.name }
  })
}

it.each([
  ['cannot be connected to', false, 'KafkaJSConnectionError'],
  ['does not respond', true, 'KafkaJSRequestTimeoutError'],
])('a leader that %s leaves the ends of the other partitions known', async (_what, isSilent, unreachable) => {
  expect(await readEnds({ isSilent })).toEqual({ ends: [[0, '100']], unreachable })
})

it('it is an error for an admin that needs all ends, and when no leader responds', async () => {
  const refused = { name: 'KafkaJSConnectionError' }
  await expect(readEnds({ isAllowed: false })).rejects.toMatchObject(refused)
  await expect(readEnds({ leader: 2 })).rejects.toMatchObject(refused)
})
