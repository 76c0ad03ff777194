import { setTimeout as delay } from 'node:timers/promises'
import { it } from 'vitest'
import { createPlant, send, untilStopped } from '../support/client.ts'
import { newEvent } from '../support/new-events.ts'
import { startOwnKafka } from '../support/own-stores.ts'
import type { Environment } from '../support/plant-store.ts'
import { pause, resume, startRedisProcess } from '../support/redis-processes.ts'
import { appendTo, setTopicConfig } from '../support/topic.ts'
import { findPrometheus, type Programs } from './prometheus.ts'
import { startWatchedStore } from './watched-store.ts'

// A real Prometheus watches real services while each alert is provoked.

const programs = await findPrometheus()
const provoke = it.runIf(programs !== undefined)

const start = (settings?: Record<string, string>, stores?: Environment) =>
  startWatchedStore(programs as Programs, settings, stores)

provoke('the projector is killed, until the window is full, and later the api', async () => {
  const { store, api, projector, untilFiring, untilOnly } = await start({ WINDOW_MAX_MIB: '2' })
  process.kill(-projector.pid, 'SIGKILL')
  // Twice as many as the window has room for.
  const events = Array.from({ length: 20_000 }, (_, n) => newEvent(BigInt(-1 - n), store.partitions))
  await appendTo(store, events)
  await untilFiring('PlantStoreInstanceDown', 'PlantStoreProjectorMissing')
  await untilFiring('PlantStoreReadModelLag')
  await untilFiring('PlantStoreWindowNearlyFull')
  await untilFiring('PlantStoreCoverageGap')
  await store.startProjector()
  // It has another operations port, which this Prometheus does not know.
  await untilOnly('PlantStoreInstanceDown', 'PlantStoreProjectorMissing')
  process.kill(-api.pid, 'SIGKILL')
  await untilOnly('PlantStoreApiMissing', 'PlantStoreInstanceDown', 'PlantStoreProjectorMissing')
})

provoke('Redis hangs, and clients send more requests than a limit allows', async () => {
  const redis = await startRedisProcess({})
  const settings = { CREATE_DEADLINE_MS: '1000', REQUESTS_MAX: '8' }
  const { api, untilFiring, untilOnly } = await start(settings, { redisUrl: redis.url })
  pause(redis)
  await untilFiring('PlantStoreReadModelUnreachable', 'PlantStoreCreatesNotWritten')
  // All permitted requests now wait for Redis, however slowly this process sends the next ones.
  const firstId = 1_000_000n
  const { stop } = untilStopped(16, (id) => createPlant(api.url, firstId + id, 'one too many'))
  await untilFiring('PlantStoreNearLimit', 'PlantStoreOverload')
  resume(redis)
  await stop()
  await untilOnly()
})

provoke('Kafka hangs', async () => {
  const kafka = await startOwnKafka()
  const settings = { CREATE_DEADLINE_MS: '1000' }
  const { untilFiring, untilOnly } = await start(settings, { kafkaBrokers: kafka.brokers })
  await kafka.pause()
  await untilFiring('PlantStoreUnknownOutcomes', 'PlantStoreSlowCreates')
  await untilFiring('PlantStoreAppendFailures')
  await kafka.resume()
  await untilOnly()
})

provoke('a foreign record, a refused table, an issuer without keys, an event loop that stands still', async () => {
  const issuer = 'https://issuer.example'
  const jwt = { JWT_ISSUER: issuer, JWT_AUDIENCE: 'plants', JWT_JWKS_URL: 'http://127.0.0.1:1/keys' }
  const { store, table, api, untilFiring, untilOnly } = await start(jwt)
  await appendTo(store, [{ partition: 0 as never, key: Buffer.from('poison'), value: Buffer.from(''), headers: {} }])
  await untilFiring('PlantStoreUnreadableRecords')
  await untilOnly()

  await setTopicConfig(table, { 'cleanup.policy': 'compact', 'max.message.bytes': '10' })
  await untilFiring('PlantStoreTableLag')
  await setTopicConfig(table, { 'cleanup.policy': 'compact' })
  await untilOnly()

  const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url')
  const headers = { authorization: `Bearer ${part({ alg: 'ES256' })}.${part({ iss: issuer })}.AA` }
  const { stop } = untilStopped(1, () => send(`${api.url}/plants/1`, { headers }))
  await untilFiring('PlantStoreTokensUnchecked')
  await stop()

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
      // Enough to render its metrics before Prometheus gives up.
      await delay(200)
    }
  }
})
