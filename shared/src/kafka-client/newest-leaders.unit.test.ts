import { expect, it } from 'vitest'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { type Address, type Knowledge, openBroker } from '../../../tests/support/scripted-broker.ts'
import { createKafka, withAdmin } from '../event-log/connection.ts'

const [OFFSETS, METADATA] = [2, 3]
const SILENT = (apiKey: number) => apiKey === METADATA

type Scripted = { known: Knowledge; isSilent?: (apiKey: number) => boolean }

/** The end of the log for an admin that asks a broker first that has lost its controllers. */
async function readEnd(others: Scripted[]) {
  const addresses: Address[] = []
  const isolated: Scripted = { known: { leader: 1, leaderEpoch: 4, end: 100 } }
  for (const { known, isSilent } of [isolated, ...others]) {
    const highest = { [OFFSETS]: 2, [METADATA]: 10 }
    const { port } = await openBroker(highest, () => addresses, isSilent, known)
    addresses.push({ nodeId: addresses.length + 1, port })
  }
  const kafka = createKafka([`127.0.0.1:${addresses[0]?.port}`], 'test', quietLog)
  const offsets = await withAdmin(kafka, (admin) => admin.fetchTopicOffsets('plants'))
  return offsets.map(({ high }) => Number(high))
}

const newer = { leader: 2, leaderEpoch: 5, end: 200 }
const older = { leader: 3, leaderEpoch: 3, end: 300 }

it('the end of a log is that of the newest leader, though a former one takes itself for the leader', async () => {
  expect(await readEnd([{ known: newer }, { known: older }])).toEqual([200])
})

it('a broker that does not respond keeps the offsets of the others for 2 s at most', async () => {
  expect(await readEnd([{ known: newer }, { known: older, isSilent: SILENT }])).toEqual([200])
})
