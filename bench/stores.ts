import { javaArgsForLoad } from '../local/stores/kafka.mjs'
import { createProcessSource } from '../tests/support/stores/from-processes.ts'
import { chooseSource, openSource } from '../tests/support/stores/source-choice.ts'
import { openOwnRun } from './own-run.ts'

/**
 * The JVM compiles the broker while it works: that is two thirds of its CPU at first, and a tenth after 80 s of load.
 */
export const BROKER_WARM_UP_MS = 90_000

export type BenchStores = {
  kafkaBrokers: string
  redisUrl: string
  /** The broker and Redis by their process ids, where they run as processes of the benchmark's own. */
  processes: ReadonlyMap<'broker' | 'Redis', number>
  /** For what others write that are started for the benchmark; it goes with it. */
  folder: string
  end(): Promise<void>
}

/**
 * The Kafka and the Redis of KAFKA_BROKERS and REDIS_URL, or else two of the benchmark's own, as the tests have them,
 * which end with it however it ends.
 */
export async function openBenchStores(env: NodeJS.ProcessEnv): Promise<BenchStores> {
  const { KAFKA_BROKERS: kafkaBrokers, REDIS_URL: redisUrl } = env
  if (kafkaBrokers && redisUrl) {
    const { run: folder, end } = openOwnRun()
    return { kafkaBrokers, redisUrl, processes: new Map(), folder, end: async () => end() }
  }
  if (kafkaBrokers || redisUrl)
    throw new Error('set both KAFKA_BROKERS and REDIS_URL, or none: then a Kafka and a Redis are started')
  const name = await chooseSource(env.PLANT_STORE_TEST_WITH, whyNoDocker, console.log)
  if (name === 'processes') return openProcessStores()
  const own = openOwnRun()
  const source = await openSource(name, own.run)
  own.atEnd(source.endAll)
  const [kafka, redis] = await Promise.all([source.startKafka(), source.startRedis()])
  return {
    ...{ kafkaBrokers: kafka.brokers, redisUrl: redis.url, processes: new Map(), folder: own.run },
    async end() {
      await Promise.all([kafka.stop(), redis.stop()])
      own.end()
    },
  }
}

/** A Kafka and a Redis of the benchmark's own as processes on this machine, whose CPU can be read by their ids. */
export async function openProcessStores(): Promise<BenchStores> {
  const own = openOwnRun()
  const source = createProcessSource(own.run, { javaArgs: javaArgsForLoad })
  const [kafka, redis] = await Promise.all([source.startKafka(), source.startRedis()])
  return {
    kafkaBrokers: kafka.brokers,
    ...{ redisUrl: redis.url, folder: own.run },
    processes: new Map([
      ['broker', kafka.pid()],
      ['Redis', redis.pid()],
    ]),
    async end() {
      await Promise.all([kafka.stop(), redis.stop()])
      own.end()
    },
  }
}

async function whyNoDocker(): Promise<string | undefined> {
  const docker = await import('../tests/support/stores/why-no-docker.ts')
  return docker.whyNoDocker()
}
