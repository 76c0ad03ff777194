import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, inject, it, onTestFinished, type TestContext, vi } from 'vitest'
import { ensureKafka } from '../../local/stores/jars.ts'
import { createPlant, readPlant } from '../support/client.ts'
import { consumeInto } from '../support/consumed-plants.ts'
import { startPatientCreates } from '../support/endless-creates.ts'
import { scrape, sumOf } from '../support/metrics-text.ts'
import { createPlantStore, openRedis } from '../support/plant-store.ts'
import { outputOf, runPlantctl } from '../support/plantctl.ts'
import { createStoreWithTable, expectTableVerified, WITH_TABLE } from '../support/plants-table.ts'
import { untilReady } from '../support/readiness.ts'
import { createProcessSource } from '../support/stores/from-processes.ts'
import { expectReadModelToEqual, expectResponsesToBeTrue, readTruth } from '../support/truth.ts'
import { debianServer, packagedValkey } from './servers.ts'

/** Not an id of the load. */
const OTHER_ID = 9_000_000n
const WAIT = { timeout: 60_000, interval: 20 }
const BELOW_4_1 = /Kafka is older than 4\.1/
const BELOW_3_1 = /Kafka is older than 3\.1/

/** The versions that differ from those of all other tests, and the notices that they cause. */
const VERSIONS: [string, kafkaVersion: string | undefined, findRedis: typeof packagedValkey, RegExp[]][] = [
  ['Kafka 3.0 and Redis 7.0', '3.0.2', () => debianServer('bookworm', 'redis'), [BELOW_3_1, BELOW_4_1]],
  ['Kafka 3.9 and Redis 8.0', '3.9.2', () => debianServer('trixie', 'redis'), [BELOW_4_1]],
  ['Kafka 4.0 and Valkey 8.1', '4.0.2', () => debianServer('trixie', 'valkey'), [BELOW_4_1]],
  ['Valkey 9.1', undefined, packagedValkey, []],
]

async function startStores({ skip }: TestContext, redisServer?: string, kafkaVersion?: string) {
  // A Kafka is tried with the usual Redis where the other one cannot be had.
  if (redisServer === undefined && kafkaVersion === undefined) return skip()
  const kafka = await ensureKafka(undefined, kafkaVersion)
  const source = createProcessSource(inject('testRun'), { kafka, redisServer })
  const stores = await Promise.all([source.startKafka(), source.startRedis()])
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.stop()))
  })
  return stores
}

it.for(VERSIONS)('%s', async ([, kafkaVersion, findRedis, expectedNotices], context) => {
  const [ownKafka, ownRedis] = await startStores(context, await findRedis(), kafkaVersion)
  const brokers = ownKafka.brokers
  const { store } = await createStoreWithTable({ kafkaBrokers: brokers, redisUrl: ownRedis.url })
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  const consumer = await consumeInto(store.topic, { brokers: [brokers] })
  const plantctl = (...args: string[]) => outputOf(runPlantctl(args, { ...store.environment, ...WITH_TABLE }))

  const retried = { 'idempotency-key': randomUUID() }
  const create = (name: string, headers = {}) => createPlant(api.url, OTHER_ID, name, headers)
  const creates = [await create('first', retried), await create('first', retried), await create('second')]
  expect(creates.map(({ response }) => response?.status)).toEqual([200, 200, 400])
  const position = String(creates[0]?.response?.headers['plants-position'])
  expect((await readPlant(api.url, OTHER_ID, { 'plants-position': position }))?.status).toBe(200)

  const load = startPatientCreates(api.url)
  await load.untilMore(100)
  await openRedis(ownRedis.url).flushall()
  await load.untilMore(100)
  await plantctl('rebuild')
  await projector.stop({ graceMs: 0 })
  const [successor] = await Promise.all([store.startProjector(WITH_TABLE, 'listening'), ownKafka.crashAndStartAgain()])
  await untilReady(successor)
  await load.untilMore(100)
  creates.push(...(await load.stop()))
  expect(creates.filter(({ response }) => response?.status !== 200)).toHaveLength(1)

  const truth = await readTruth(store)
  expectResponsesToBeTrue(creates, truth)
  await expectReadModelToEqual(truth, store)
  await expectTableVerified(store)
  const creations = truth.states.flatMap(({ plants }) => [...plants.keys()])
  await vi.waitFor(() => expect(new Set(consumer.events.map(({ id }) => id))).toEqual(new Set(creations)), WAIT)

  const acknowledged = sumOf(await scrape(api), 'plant_store_verdicts_total', { by: 'acknowledgement' }) ?? 0
  const { notices } = JSON.parse(await plantctl('status', '--json')) as { notices: string[] }
  const logged = readFileSync(api.logFile, 'utf8')
  for (const notice of [BELOW_3_1, BELOW_4_1]) {
    const isExpected = expectedNotices.includes(notice)
    expect([notices.some((text) => notice.test(text)), notice.test(logged)]).toEqual([isExpected, isExpected])
  }
  if (expectedNotices.includes(BELOW_4_1)) expect(acknowledged).toBe(0)
  else expect(acknowledged).toBeGreaterThan(0)
})

it('a Redis before 6.2 is refused', async (context) => {
  const [ownKafka, ownRedis] = await startStores(context, await debianServer('bullseye', 'redis'))
  const store = await createPlantStore({ kafkaBrokers: ownKafka.brokers, redisUrl: ownRedis.url })
  const refusal = /exit code 78.*Redis 6\.0\.\d+ is too old: use 6\.2 or newer/s
  await expect(store.startApi()).rejects.toThrow(refusal)
  await expect(store.startProjector()).rejects.toThrow(refusal)
})
