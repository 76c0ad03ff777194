import { setTimeout as delay } from 'node:timers/promises'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { createPlant, idsWhile, onConnections, send } from '../support/client.ts'
import { startOwnKafka } from '../support/own-stores.ts'
import { createPlantStore, type Environment } from '../support/plant-store.ts'
import { pause, resume, startRedisProcess } from '../support/redis-processes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { registerProcess } from '../support/test-run.ts'
import { RULES } from './alert-rules.ts'
import { findPrometheus, type Programs, startPrometheus } from './prometheus.ts'

// A real Prometheus watches real services while each alert is provoked.

const programs = await findPrometheus()
const provoke = it.runIf(programs !== undefined)

/** The same rules, with ranges and waits of seconds. */
const QUICK_RULES = RULES.replaceAll(/\[(?:5m|1h)\]/g, '[5s]')
  .replaceAll('offset 5m', 'offset 5s')
  .replaceAll(/for: \d+[ms]/g, 'for: 1s')
const CONNECTIONS = 64
const WAIT = { timeout: 60_000, interval: 100 }
const STOP_GRACE_MS = 5_000

async function startWatched(settings: Record<string, string> = {}, stores: Partial<Environment> = {}) {
  const environment = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl'), ...stores }
  const store = await createPlantStore(environment)
  const [api, projector] = await Promise.all([store.startApi(settings), store.startProjector()])
  const opsUrls = [api.opsUrl, projector.opsUrl]
  const prometheus = await startPrometheus(programs as Programs, temporaryFolder(), QUICK_RULES, opsUrls)
  registerProcess(inject('testRun'), prometheus.running)
  onTestFinished(() => prometheus.running.stop({ graceMs: STOP_GRACE_MS }).then(() => undefined))

  let isGoing = true
  const create = (id: bigint) => createPlant(api.url, id, `plant ${id}`)
  const load = onConnections(
    CONNECTIONS,
    idsWhile(() => isGoing),
    create,
  )
  onTestFinished(async () => {
    isGoing = false
    await load
  })

  const untilFiring = (...alerts: string[]) =>
    vi.waitFor(async () => expect(await prometheus.firing()).toEqual(expect.arrayContaining(alerts)), WAIT)
  /** All alerts that fire are these. */
  const untilOnly = (...alerts: string[]) =>
    vi.waitFor(async () => expect(await prometheus.firing()).toEqual(alerts), WAIT)
  await vi.waitFor(async () => {
    expect(await prometheus.values('plant_store:creates:rate5m > 100')).toHaveLength(1)
    expect(await prometheus.values('count(plant_store_build_info)')).toEqual([2])
  }, WAIT)
  expect(await prometheus.firing()).toEqual([])
  return { store, api, projector, untilFiring, untilOnly }
}

provoke('the projector is killed, until the window is full', async () => {
  const { store, projector, untilFiring, untilOnly } = await startWatched({ WINDOW_MAX_MIB: '4' })
  process.kill(-projector.pid, 'SIGKILL')
  await untilFiring('PlantStoreInstanceDown', 'PlantStoreProjectorMissing')
  await untilFiring('PlantStoreReadModelLag')
  await untilFiring('PlantStoreWindowNearlyFull')
  await untilFiring('PlantStoreCoverageGap')
  await store.startProjector()
  // It has another operations port, which this Prometheus does not know.
  await untilOnly('PlantStoreInstanceDown', 'PlantStoreProjectorMissing')
})

provoke('Redis hangs', async () => {
  const redis = await startRedisProcess({})
  const redisUrl = `redis://127.0.0.1:${redis.port}`
  const { untilFiring, untilOnly } = await startWatched({ CREATE_DEADLINE_MS: '1000' }, { redisUrl })
  pause(redis)
  await untilFiring('PlantStoreReadModelUnreachable', 'PlantStoreCreatesNotWritten')
  resume(redis)
  await untilOnly()
})

provoke('Kafka hangs', async () => {
  const kafka = await startOwnKafka()
  const settings = { CREATE_DEADLINE_MS: '1000' }
  const { untilFiring, untilOnly } = await startWatched(settings, { kafkaBrokers: kafka.brokers })
  await kafka.pause()
  await untilFiring('PlantStoreUnknownOutcomes', 'PlantStoreSlowCreates')
  await untilFiring('PlantStoreAppendFailures')
  await kafka.resume()
  await untilOnly()
})

provoke('a foreign record', async () => {
  const { store, untilFiring, untilOnly } = await startWatched()
  const appender = createAppender(store.kafka, store.topic)
  onTestFinished(appender.close)
  await appender.append([{ partition: 0 as never, key: Buffer.from('poison'), value: Buffer.from(''), headers: {} }])
  await untilFiring('PlantStoreUnreadableRecords')
  await untilOnly()
})

provoke('more requests than a limit allows', async () => {
  const { untilFiring } = await startWatched({ REQUESTS_MAX: '8' })
  await untilFiring('PlantStoreNearLimit', 'PlantStoreOverload')
})

provoke('an issuer without keys', async () => {
  const issuer = 'https://issuer.example'
  const jwt = { JWT_ISSUER: issuer, JWT_AUDIENCE: 'plants', JWT_JWKS_URL: 'http://127.0.0.1:1/keys' }
  const { api, untilFiring } = await startWatched(jwt)
  const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url')
  const headers = { authorization: `Bearer ${part({ alg: 'ES256' })}.${part({ iss: issuer })}.AA` }
  let isGoing = true
  const requests = onConnections(
    1,
    idsWhile(() => isGoing),
    () => send(`${api.url}/plants/1`, { headers }),
  )
  await untilFiring('PlantStoreTokensUnchecked')
  isGoing = false
  await requests
})

provoke('an event loop that stands still', async () => {
  const { api, untilFiring } = await startWatched()
  let isGoing = true
  const standing = standStill()
  await untilFiring('PlantStoreEventLoopDelay')
  isGoing = false
  await standing

  async function standStill(): Promise<void> {
    while (isGoing) {
      process.kill(api.pid, 'SIGSTOP')
      await delay(300)
      process.kill(api.pid, 'SIGCONT')
      await delay(50)
    }
  }
})
