import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { killLivingGroups } from '../../local/processes/process.mjs'
import { ensureJars } from '../../local/stores/jars.mjs'
import { startKafka } from '../../local/stores/kafka.mjs'
import { startRedis } from '../../local/stores/redis.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    kafkaBrokers: string
    redisUrl: string
  }
}

/** Brings up a Kafka and a Redis of the tests' own, in a temporary folder, and ends and removes them. */
export default async function startStores(project: TestProject): Promise<() => Promise<void>> {
  // Detached children outlive their parent: not even a test run that breaks off may leave them.
  process.once('exit', killLivingGroups)
  const { kafkaClasspath, redisServer, java } = await ensureJars()
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-test-'))
  const at = (name: string) => ({ dir: join(folder, name), logFile: join(folder, `${name}.log`) })
  const [kafka, redis] = await Promise.all([
    startKafka({ ...at('kafka'), classpath: kafkaClasspath, java }),
    startRedis({ ...at('redis'), redisServer }),
  ])
  project.provide('kafkaBrokers', kafka.brokers)
  project.provide('redisUrl', redis.url)
  return async () => {
    await Promise.all([kafka.stop({ graceMs: 10_000 }), redis.stop({ graceMs: 5_000 })])
    await rm(folder, { recursive: true })
  }
}
