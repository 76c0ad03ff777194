import { expect, it, onTestFinished, vi } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { openBrokers, openConsumer, type Scripted } from '../../../tests/support/scripted-broker.ts'
import { createAppender } from '../event-log/append.ts'
import { withAdmin } from '../event-log/connection.ts'
import type { Partition } from '../plant/position.ts'

const METADATA = 3
/** Longer than the time limit of a test. */
const PATIENT = { requestTimeout: 600_000, connectionTimeout: 600_000 }
const P = 0 as Partition
const REFRESHED_EVERY_MS = 5_000

/**
 * The end of partition 0 for an admin that asks a broker first that has lost its controllers. Metadata are requested
 * again meanwhile, because partition 1 has no leader.
 */
async function readEnd(...brokers: [Scripted, ...Scripted[]]) {
  const [first] = await openBrokers(...brokers)
  const kafka = createImpatientKafka(first.address, PATIENT)
  const offsets = await withAdmin(kafka, (admin) => admin.fetchTopicOffsets('plants'))
  return offsets.map(({ high }) => Number(high))
}

const isolated = { known: { leader: 1, leaderEpoch: 4, end: 100 } }
const newer = { known: { leader: 2, leaderEpoch: 5, end: 200 } }
const older = { known: { leader: 3, leaderEpoch: 3, end: 300 } }

it('the end of a log is that of the newest leader, though a former one takes itself for the leader', async () => {
  expect(await readEnd(isolated, newer, older)).toEqual([200])
})

it('also when the former leader does not know the newest one', async () => {
  expect(await readEnd({ ...isolated, lists: ({ nodeId }) => nodeId !== 2 }, newer, newer)).toEqual([200])
})

it('a broker that does not respond delays the offsets of the others only for a time', async () => {
  expect(await readEnd(isolated, newer, { ...older, isSilent: (apiKey) => apiKey === METADATA })).toEqual([200])
})

/** Until the newest leader is found; other metadata do not lead back to a former one. */
async function expectNewestLeader(leaderAfter: (isLater: boolean) => Promise<unknown>): Promise<void> {
  await eventually(async () => expect(await leaderAfter(true)).toEqual(2))
  for (let refresh = 0; refresh < 20; refresh++) expect(await leaderAfter(false)).toEqual(2)
}

it('a consumer that fetches finds the newest leader, and does not go back to a former one', async () => {
  const led = ({ known }: typeof newer) => ({ known: { ...known, otherLeader: 1 } })
  const [first] = await openBrokers(led(isolated), led(newer))
  const { cluster } = await openConsumer(createImpatientKafka(first.address, PATIENT))
  onTestFinished(fakeTimers({ toFake: ['performance'] }))
  const leader = () => Number(Object.keys(cluster.findLeaderForPartitions('plants', [P]))[0])
  expect(leader()).toBe(1)
  await expectNewestLeader(async (isLater) => {
    if (isLater) vi.advanceTimersByTime(REFRESHED_EVERY_MS)
    await (isLater ? cluster.refreshMetadataIfNecessary() : cluster.refreshMetadata())
    return leader()
  })
})

it('an appender that has failed finds the newest leader, and does not go back to a former one', async () => {
  const [first] = await openBrokers(isolated, newer)
  const appender = createAppender(createImpatientKafka(first.address, PATIENT), 'plants')
  onTestFinished(() => appender.close())
  await appender.connect()
  expect(appender.leaderOf(P)).toBe(1)
  await expectNewestLeader(async () => {
    await appender.refreshLeaders()
    return appender.leaderOf(P)
  })
})
