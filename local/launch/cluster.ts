import { join } from 'node:path'
import { sideBySide } from '../processes/side-by-side.ts'
import type { Programs } from '../stores/jars.ts'
import { startKafkaCluster } from '../stores/kafka-cluster.ts'
import { startSentinels } from '../stores/redis-sentinels.ts'
import type { Launch, Stores } from './launch.ts'
import { storedSecret } from './token.ts'

const START_TIMEOUT_MS = 120_000
/** The users of Kafka: `admin` may do everything. */
const USERS = ['admin', 'api', 'projector', 'plantctl']

/**
 * The stores as production has them, as processes with their data in the local folder: three brokers with TLS,
 * passwords and ACLs; a Redis with two replicas and three sentinels.
 */
export async function startCluster(launch: Launch, programs: Programs, signal: AbortSignal): Promise<Stores> {
  const { settings, progress, keep } = launch
  const { java, kafkaClasspath: classpath, redisServer } = programs
  const dir = join(settings.localDir, 'data', 'cluster')
  const secretOf = (user: string) => join(dir, 'passwords', user)
  const passwords = Object.fromEntries(USERS.map((user) => [user, storedSecret(secretOf(user))]))
  const logDir = join(settings.localDir, 'logs')
  const common = { logDir, startTimeoutMs: START_TIMEOUT_MS }
  const from = (port: number) => ({ nextPort: () => port++ })
  const kafkaOptions = { ...common, ...from(settings.kafkaPort), dir: join(dir, 'kafka'), classpath, java, passwords }
  const redisOptions = { ...common, ...from(settings.redisPort), dir: join(dir, 'redis'), redisServer }
  const [kafka, redis] = await sideBySide(
    signal,
    (signal) => progress.step('Kafka, three brokers', () => startKafkaCluster({ ...kafkaOptions, signal })),
    (signal) =>
      progress.step('Redis, two replicas and three sentinels', () =>
        startSentinels({ ...redisOptions, appendOnly: true, signal }),
      ),
  )
  for (const process of [...kafka.nodes, ...redis.servers, ...redis.sentinels]) keep(process, process.start)
  return {
    settingsOf(role) {
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
