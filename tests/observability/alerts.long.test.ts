import { setTimeout as delay } from 'node:timers/promises'
import { it } from 'vitest'
import { send, untilStopped } from '../support/client.ts'
import { newEvent } from '../support/new-events.ts'
import { startOwnKafka } from '../support/own-stores.ts'
import { pause, resume, startRedisProcess } from '../support/redis-processes.ts'
import { appendTo, setTopicConfig } from '../support/topic.ts'
import { findPrometheus, type Programs } from './prometheus.ts'
import { startWatchedStore } from './watched-store.ts'

// A real Prometheus watches real services while each alert is provoked.

const programs = await findPrometheus()
const provoke = it.runIf(programs !== undefined)

provoke(
  'a foreign record, a refused table, an issuer without keys, an event loop that stands still, dead services',
  async () => {
    const issuer = 'https://issuer.example'
    const jwt = { JWT_ISSUER: issuer, JWT_AUDIENCE: 'plants', JWT_JWKS_URL: 'http://127.0.0.1:1/keys' }
    const watched = await startWatchedStore(programs as Programs, { ...jwt, WINDOW_MAX_MIB: '2' })
    const { store, table, api, projector, untilFiring, untilOnly } = watched
    await appendTo(store, [{ partition: 0 as never, key: Buffer.from('poison'), value: Buffer.from(''), headers: {} }])
    await untilFiring('PlantStoreUnreadableRecords')
    await untilOnly()

    await setTopicConfig(table, { 'cleanup.policy': 'compact', 'max.message.bytes': '10' })
    await untilFiring('PlantStoreTableLag')
    await setTopicConfig(table, { 'cleanup.policy': 'compact' })
    await untilOnly()

    const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url')
    const headers = { authorization: `Bearer ${part({ alg: 'ES256' })}.${part({ iss: issuer })}.AA` }
    const { stop } = untilStopped(1, () => Promise.all([send(`${api.url}/plants/1`, { headers }), delay(100)]))
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
  },
)

provoke('Kafka hangs, and later Redis, while clients send more requests than a limit allows', async () => {
  const [kafka, redis] = await Promise.all([startOwnKafka(), startRedisProcess({})])
  const settings = { CREATE_DEADLINE_MS: '1000', REQUESTS_MAX: '8' }
  const stores = { kafkaBrokers: kafka.brokers, redisUrl: redis.url }
  const { load, untilFiring, untilOnly } = await startWatchedStore(programs as Programs, settings, stores)
  await kafka.pause()
  await untilFiring('PlantStoreUnknownOutcomes', 'PlantStoreSlowCreates')
  await untilFiring('PlantStoreAppendFailures')
  await kafka.resume()
  await untilOnly()

  pause(redis)
  await untilFiring('PlantStoreReadModelUnreachable', 'PlantStoreCreatesNotWritten')
  // All permitted requests now wait for Redis, however slowly this process sends the next ones.
  const { stop } = load(16, 1_000_000n)
  await untilFiring('PlantStoreNearLimit', 'PlantStoreOverload')
  resume(redis)
  await stop()
  await untilOnly()
})
