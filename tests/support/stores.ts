import type { TestProject, Vitest } from 'vitest/node'
import { describe } from '../../local/processes/failure.mjs'
import { endWithProcess } from './end-with-process.ts'
import { chooseSource, openSource, type SourceName } from './stores/source-choice.ts'
import { endProcesses, openTestRun, removeTestRun } from './test-run.ts'

declare module 'vitest' {
  interface ProvidedContext {
    testRun: string
    storeSource: SourceName
    kafkaBrokers: string
    redisUrl: string
  }
}

/** Starts a Kafka and a Redis for the tests, and ends them with everything that the tests left. */
export default async function startStores({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  // Vitest calls this for each project; they share the stores.
  if (vitest.getProvidedContext().testRun !== undefined) return undefined
  try {
    return await openStores(vitest)
  } catch (error) {
    // Vitest would first print that it found no tests.
    console.error(describe(error))
    process.exit(1)
  }
}

async function openStores(vitest: Vitest): Promise<() => Promise<void>> {
  const name = await chooseSource()
  const run = openTestRun()
  const source = await openSource(name, run)
  let isComplete = false
  const end = endWithProcess(() => {
    endProcesses(run, { andWorkers: !isComplete })
    removeTestRun(run)
  })
  const [kafka, redis] = await Promise.all([source.startKafka(), source.startRedis()])
  vitest.provide('testRun', run)
  vitest.provide('storeSource', name)
  vitest.provide('kafkaBrokers', kafka.brokers)
  vitest.provide('redisUrl', redis.url)
  return async () => {
    isComplete = true
    // Processes end with the run, as do, some time later, containers that the reaper of testcontainers knows.
    if (name === 'docker') await Promise.all([kafka.stop(), redis.stop()])
    end()
  }
}
