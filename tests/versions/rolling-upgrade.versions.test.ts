import { rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { expect, it, onTestFinished, vi } from 'vitest'
import { ensureKafka } from '../../local/stores/jars.ts'
import { startSentinels } from '../../local/stores/redis-sentinels.ts'
import { startPatientCreates } from '../support/endless-creates.ts'
import { scrape, sumOf } from '../support/metrics-text.ts'
import { createPlantStore, type Environment } from '../support/plant-store.ts'
import { outputOf, runPlantctl } from '../support/plantctl.ts'
import { openClient, redisProcesses } from '../support/redis-processes.ts'
import { startSecuredKafka } from '../support/secured-kafka.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { debianServer } from './servers.ts'

const SOME_CREATES = 100
const WAIT = { timeout: 120_000, interval: 100 }

/** Makes the next start of a server run the programs at `target`. */
function leadTo(target: string, path: string): void {
  rmSync(path, { force: true })
  symlinkSync(target, path)
}

async function startUnderLoad(environment: Environment) {
  const store = await createPlantStore(environment)
  const [apis] = await Promise.all([Promise.all([store.startApi(), store.startApi()]), store.startProjector()])
  const load = startPatientCreates(...apis.map(({ url }) => url))
  await load.untilMore(SOME_CREATES)
  async function expectNoHarm(): Promise<void> {
    expect((await load.stop()).filter(({ response }) => response?.status !== 200)).toEqual([])
    await outputOf(runPlantctl(['verify'], store.environment))
  }
  return { store, apis, load, expectNoHarm }
}

it('no create fails while Kafka 4.0 is upgraded, one broker after the other', async () => {
  const jars = join(temporaryFolder(), 'jars')
  leadTo(dirname((await ensureKafka(undefined, '4.0.2')).classpath), jars)
  const kafka = await startSecuredKafka({ nodeIds: [1, 2, 3], users: [], classpath: join(jars, '*') })
  onTestFinished(kafka.stop)
  const { store, apis, load, expectNoHarm } = await startUnderLoad({ kafkaBrokers: kafka.brokers })
  leadTo(dirname((await ensureKafka()).classpath), jars)
  await kafka.restartOneByOne(async () => {
    await vi.waitFor(async () => {
      const { topics } = await withAdmin(store.kafka, (admin) => admin.fetchTopicMetadata({ topics: [store.topic] }))
      expect(new Set(topics[0]?.partitions.map(({ isr }) => isr.length))).toEqual(new Set([3]))
    }, WAIT)
    await load.untilMore(SOME_CREATES)
  })
  await expectNoHarm()
  // As no broker before 4.1 lets it.
  const samples = (await Promise.all(apis.map(scrape))).flat()
  expect(sumOf(samples, 'plant_store_verdicts_total', { by: 'acknowledgement' })).toBeGreaterThan(0)
})

it('no create fails while Redis 7.0 is upgraded, the replicas first', async ({ skip }) => {
  const [older, newer] = [await debianServer('bookworm', 'redis'), await debianServer('trixie', 'redis')]
  if (older === undefined || newer === undefined) return skip()
  const redisServer = join(temporaryFolder(), 'redis-server')
  leadTo(older, redisServer)
  const { servers, sentinels, ...redis } = await startSentinels({ ...(await redisProcesses()), redisServer })
  const environment = { redis: { REDIS_SENTINELS: redis.addresses, REDIS_SENTINEL_NAME: redis.name } }
  const { load, expectNoHarm } = await startUnderLoad(environment)
  leadTo(newer, redisServer)
  const [master, ...replicas] = servers.map((server) => ({ ...server, client: openClient(server) }))
  async function restart({ stop, start, client }: NonNullable<typeof master>): Promise<void> {
    await stop({ graceMs: 30_000 })
    await start()
    const upgraded = /^redis_version:8\..*^master_link_status:up/ms
    await vi.waitFor(async () => expect(await client.info()).toMatch(upgraded), WAIT)
    await load.untilMore(SOME_CREATES)
  }
  for (const replica of replicas) await restart(replica)
  const sentinel = sentinels.map(openClient)[0]
  // A sentinel may not have found a replica again that has just started.
  await vi.waitFor(() => sentinel?.call('SENTINEL', 'FAILOVER', redis.name), WAIT)
  await vi.waitFor(async () => expect(await master?.client.info()).toMatch(/^role:slave/m), WAIT)
  if (master !== undefined) await restart(master)
  await expectNoHarm()
})
