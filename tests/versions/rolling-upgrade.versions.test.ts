import { rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { expect, it, onTestFinished, vi } from 'vitest'
import { ensureKafka } from '../../local/stores/jars.ts'
import { startPatientCreates } from '../support/endless-creates.ts'
import { scrape, sumOf } from '../support/metrics-text.ts'
import { createPlantStore } from '../support/plant-store.ts'
import { outputOf, runPlantctl } from '../support/plantctl.ts'
import { startSecuredKafka } from '../support/secured-kafka.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const SOME_CREATES = 100
const WAIT = { timeout: 120_000, interval: 100 }

it('no create fails while Kafka 4.0 is upgraded, one broker after the other', async () => {
  const jars = join(temporaryFolder(), 'jars')
  symlinkSync(dirname((await ensureKafka(undefined, '4.0.2')).classpath), jars)
  const kafka = await startSecuredKafka({ nodeIds: [1, 2, 3], users: [], classpath: join(jars, '*') })
  onTestFinished(kafka.stop)
  const store = await createPlantStore({ kafkaBrokers: kafka.brokers })
  const [apis] = await Promise.all([Promise.all([store.startApi(), store.startApi()]), store.startProjector()])
  const load = startPatientCreates(...apis.map(({ url }) => url))
  await load.untilMore(SOME_CREATES)
  // The next start of each broker runs what is here then.
  rmSync(jars)
  symlinkSync(dirname((await ensureKafka()).classpath), jars)
  await kafka.restartOneByOne(async () => {
    await vi.waitFor(async () => {
      const { topics } = await withAdmin(store.kafka, (admin) => admin.fetchTopicMetadata({ topics: [store.topic] }))
      expect(new Set(topics[0]?.partitions.map(({ isr }) => isr.length))).toEqual(new Set([3]))
    }, WAIT)
    await load.untilMore(SOME_CREATES)
  })
  expect((await load.stop()).filter(({ response }) => response?.status !== 200)).toEqual([])
  await outputOf(runPlantctl(['verify'], store.environment))
  // As no broker before 4.1 lets it.
  const samples = (await Promise.all(apis.map(scrape))).flat()
  expect(sumOf(samples, 'plant_store_verdicts_total', { by: 'acknowledgement' })).toBeGreaterThan(0)
})
