import { Redis } from 'ioredis'
import { killLivingGroups } from '../local/processes/process.ts'
import { javaArgsForLoad } from '../local/stores/kafka.ts'
import { endWithProcess } from '../tests/support/end-with-process.ts'
import { createProcessSource } from '../tests/support/stores/from-processes.ts'
import { endProcesses, openTestRun, removeTestRun } from '../tests/support/test-run.ts'
import type { Load } from './load/load.ts'

export type BenchStores = Awaited<ReturnType<typeof openStores>>

/** The load that warms up the broker takes this many times as long as the warm-up of a contender. */
const BROKER_WARM_UPS = 9

/** The JVM compiles the broker while it works: two thirds of its CPU at first, a tenth after 80 s of load. */
export const brokerWarmUp = (load: Load): Load => ({ ...load, warmUpMs: BROKER_WARM_UPS * load.warmUpMs })

/** A folder for everything that is started. `end` ends and removes that, also when the benchmark is interrupted. */
export function openOwnRun() {
  const run = openTestRun()
  const end = endWithProcess(() => {
    endProcesses(run)
    killLivingGroups()
    removeTestRun(run)
  })
  return { run, end }
}

/** Starts a Kafka and a Redis as processes on this machine, whose CPU can be read by their ids. */
export async function openStores() {
  const own = openOwnRun()
  const source = createProcessSource(own.run, { javaArgs: javaArgsForLoad })
  const [kafka, redis] = await Promise.all([source.startKafka(), source.startRedis()])
  return {
    ...{ kafkaBrokers: kafka.brokers, redisUrl: redis.url },
    processes: { broker: [kafka.pid()], Redis: [redis.pid()] },
    /** Everything that is started for the benchmark writes here; the folder is removed at the end. */
    folder: own.run,
    async end() {
      await Promise.all([kafka.stop(), redis.stop()])
      own.end()
    },
  }
}

export async function redisInfo(redisUrl: string, section: string, field: string): Promise<string> {
  const redis = new Redis(redisUrl)
  const info = await redis.info(section)
  redis.disconnect()
  return new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '?'
}
