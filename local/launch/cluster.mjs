import { join } from 'node:path'
import { sideBySide } from '../processes/side-by-side.mjs'
import { ensureJars } from '../stores/jars.mjs'
import { startKafkaCluster } from '../stores/kafka-cluster.mjs'
import { startSentinels } from '../stores/redis-sentinels.mjs'
import { storedSecret } from './token.mjs'

/**
 * @typedef {import('./stores.mjs').Launch} Launch
 * @typedef {import('./stores.mjs').Role} Role
 */

const startTimeoutMs = 120_000
/** The users of Kafka: `admin` may do everything. */
const users = ['admin', 'api', 'projector', 'plantctl']

/**
 * The stores as production has them, as processes with their data in the local folder: three brokers with TLS,
 * passwords and ACLs; a Redis with two replicas and three sentinels.
 *
 * @param {Launch} launch
 * @param {AbortSignal} signal
 * @returns {Promise<import('./stores.mjs').StartStores>}
 */
export async function prepareCluster(launch, signal) {
  const programs = await launch.progress.step('Programs of Kafka and Redis', () => ensureJars({ signal }))
  return (signal) => startCluster(launch, programs, signal)
}

/**
 * @param {Launch} launch
 * @param {import('./stores.mjs').Programs} programs
 * @param {AbortSignal} signal
 * @returns {Promise<import('./stores.mjs').Stores>}
 */
async function startCluster({ settings, progress, onSpawn, keep }, programs, signal) {
  const { java, kafkaClasspath: classpath, redisServer } = programs
  const dir = join(settings.localDir, 'data', 'cluster')
  const logDir = join(settings.localDir, 'logs')
  const secretOf = (/** @type {string} */ user) => join(dir, 'passwords', user)
  const passwords = Object.fromEntries(users.map((user) => [user, storedSecret(secretOf(user))]))
  const common = { logDir, onSpawn, startTimeoutMs }
  const from = (/** @type {number} */ port) => () => port++
  const [kafka, redis] = await sideBySide(
    signal,
    (signal) =>
      progress.step('Kafka, three brokers', () =>
        startKafkaCluster({
          ...{ ...common, dir: join(dir, 'kafka'), nextPort: from(settings.kafkaPort) },
          ...{ classpath, java, passwords, signal },
        }),
      ),
    (signal) =>
      progress.step('Redis, two replicas and three sentinels', () =>
        startSentinels({
          ...{ ...common, dir: join(dir, 'redis'), nextPort: from(settings.redisPort) },
          ...{ redisServer, appendOnly: true, signal },
        }),
      ),
  )
  for (const process of [...kafka.nodes, ...redis.servers, ...redis.sentinels]) keep(process, process.start)
  return {
    settingsOf: (role) => {
      const user = role === 'setup' ? 'admin' : role
      return {
        KAFKA_BROKERS: kafka.brokers,
        KAFKA_SECURITY_PROTOCOL: 'SASL_SSL',
        KAFKA_SSL_CA_FILE: kafka.caFile,
        KAFKA_SASL_MECHANISM: kafka.mechanism,
        KAFKA_SASL_USERNAME: user,
        KAFKA_SASL_PASSWORD_FILE: secretOf(user),
        REDIS_SENTINELS: redis.addresses,
        REDIS_SENTINEL_NAME: redis.name,
      }
    },
  }
}
