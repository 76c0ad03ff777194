import { chooseSource, openSource } from '../tests/support/stores/source-choice.ts'
import { endProcesses, openTestRun, removeTestRun } from '../tests/support/test-run.ts'

export type BenchStores = { kafkaBrokers: string; redisUrl: string; end(): Promise<void> }

/**
 * The Kafka and the Redis of KAFKA_BROKERS and REDIS_URL, or else two of the benchmark's own, as the tests have them,
 * which end with it however it ends.
 */
export async function openBenchStores(env: NodeJS.ProcessEnv): Promise<BenchStores> {
  const { KAFKA_BROKERS: kafkaBrokers, REDIS_URL: redisUrl } = env
  if (kafkaBrokers && redisUrl) return { kafkaBrokers, redisUrl, end: async () => {} }
  if (kafkaBrokers || redisUrl)
    throw new Error('set both KAFKA_BROKERS and REDIS_URL, or none: then a Kafka and a Redis are started')
  const name = await chooseSource(env.PLANT_STORE_TEST_WITH, whyNoDocker, console.log)
  const run = openTestRun()
  const source = await openSource(name, run)
  const endAll = () => {
    endProcesses(run)
    source.endAll()
    removeTestRun(run)
  }
  process.once('exit', endAll)
  const [kafka, redis] = await Promise.all([source.startKafka(), source.startRedis()])
  return {
    kafkaBrokers: kafka.brokers,
    redisUrl: redis.url,
    async end() {
      await Promise.all([kafka.stop(), redis.stop()])
      process.off('exit', endAll)
      endAll()
    },
  }
}

async function whyNoDocker(): Promise<string | undefined> {
  const docker = await import('../tests/support/stores/why-no-docker.ts')
  return docker.whyNoDocker()
}
