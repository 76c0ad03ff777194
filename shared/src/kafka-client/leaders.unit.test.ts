import { EventEmitter } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Kafka, KafkaConfig } from 'kafkajs'
import { expect, it, onTestFinished, vi } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { listen } from '../../../tests/support/listen.ts'
import {
  type Address,
  openBroker,
  openBrokers,
  openConsumer,
  type Scripted,
} from '../../../tests/support/scripted-broker.ts'
import { createAppender } from '../event-log/append.ts'
import { withAdmin } from '../event-log/connection.ts'
import { offsetsAt } from '../event-log/topic.ts'
import { checkRights } from '../event-log/topic-rights.ts'
import type { Partition } from '../plant/position.ts'

const [OFFSETS, METADATA] = [2, 3]
/** Longer than the time limit of a test. */
const PATIENT = { requestTimeout: 600_000, connectionTimeout: 600_000 }
const NO_LEADER = -1
const P = 0 as Partition
const REFRESHED_EVERY_MS = 5_000

async function openAppender(address: string, options: Partial<KafkaConfig>) {
  const appender = createAppender(createImpatientKafka(address, options), 'plants')
  onTestFinished(() => appender.close())
  await appender.refreshLeaders()
  return appender
}

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

/** Asks a broker that leads one partition, and no broker the other one, whether it responds. */
async function openLeader(options: Partial<KafkaConfig>, isSilent = () => false) {
  const [{ address }] = await openBrokers({ known: { leader: 1, leaderEpoch: 1, end: 100 }, isSilent })
  const appender = await openAppender(address, { requestTimeout: 5_000, connectionTimeout: 5_000, ...options })
  return () => appender.responds(1, 'suspect')
}

it('a leader responds although another partition has no leader, unless it is frozen', async () => {
  let isFrozen = false
  const responds = await openLeader({ requestTimeout: 2_000 }, () => isFrozen)
  expect([await responds(), await responds()]).toEqual([true, true])
  isFrozen = true
  expect(await responds()).toBe(false)
})

it('a request that comes while its connection asks for the versions of the broker waits for them', async () => {
  const connected = new EventEmitter()
  const responds = await openLeader({
    socketFactory: ({ host, port, onConnect }) =>
      connect(port, host, () => {
        onConnect()
        connected.emit('next')
      }),
  })
  const second = new Promise<boolean>((resolve) => connected.once('next', () => resolve(responds())))
  expect(await Promise.all([responds(), second])).toEqual([true, true])
})

const isolated = { known: { leader: 1, leaderEpoch: 4, end: 100 } }
const newer = { known: { leader: 2, leaderEpoch: 5, end: 200 } }
const older = { known: { leader: 3, leaderEpoch: 3, end: 300 } }

it.each<[string, Scripted, Scripted, Scripted]>([
  ['though it was deposed', isolated, newer, older],
  ['and does not know the newest one', { ...isolated, lists: ({ nodeId }) => nodeId !== 2 }, newer, newer],
  ['and another broker does not respond', isolated, newer, { ...older, isSilent: (apiKey) => apiKey === METADATA }],
])('the end of a log is that of the newest leader, if a former one takes itself for it %s', async (_, ...brokers) => {
  const [first] = await openBrokers(...brokers)
  // Metadata are requested again meanwhile, because partition 1 has no leader.
  const kafka = createImpatientKafka(first.address, PATIENT)
  expect(await withAdmin(kafka, (admin) => admin.fetchTopicOffsets('plants'))).toMatchObject([{ high: '200' }])
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
  const appender = await openAppender(first.address, PATIENT)
  expect(appender.leaderOf(P)).toBe(1)
  await expectNewestLeader(async () => {
    await appender.refreshLeaders()
    return appender.leaderOf(P)
  })
})
