import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '../../../local/processes/failure.mjs'
import { pullMissingImages, whyNoDocker } from '../../../local/stores/docker.ts'
import { createProcessSource } from './from-processes.ts'
import type { StoreSource } from './store-source.ts'

export type SourceName = 'docker' | 'processes'

/** The first time, it is pulled. */
const REAPER_TIMEOUT_MS = 600_000

/**
 * The source that PLANT_STORE_TEST_WITH requests, or else Docker when it is available, or else processes. Prints the
 * choice, and the reason when it is not Docker. Throws a Failure when the requested source is not available.
 */
export async function chooseSource(): Promise<SourceName> {
  const requested = process.env.PLANT_STORE_TEST_WITH
  if (requested && requested !== 'docker' && requested !== 'processes') {
    throw new Failure(`PLANT_STORE_TEST_WITH=${requested}: expected docker or processes`)
  }
  const asProcesses = 'The tests run Kafka and Redis as processes'
  if (requested === 'processes') {
    console.log(`${asProcesses}: PLANT_STORE_TEST_WITH requests them.`)
    return 'processes'
  }
  const obstacle = (await whyNoDocker()) ?? (await pullMissingImages()) ?? (await whyNoReaper())
  if (obstacle === undefined) {
    console.log('The tests run Kafka and Redis in Docker.')
    return 'docker'
  }
  if (requested === 'docker') {
    throw new Failure(`PLANT_STORE_TEST_WITH=docker: ${obstacle}. PLANT_STORE_TEST_WITH=processes needs none.`)
  }
  console.log(`${asProcesses}: ${obstacle}.`)
  return 'processes'
}

/** The reaper comes with the first container, as a separate container, and can fail where the others would not. */
async function whyNoReaper(): Promise<string | undefined> {
  // Imported only where it is used: testcontainers takes 0.2 s to load.
  const { getContainerRuntimeClient, getReaper } = await import('testcontainers')
  const starting = getContainerRuntimeClient().then(getReaper)
  const fault = await Promise.race([
    starting.then(
      () => undefined,
      (error: Error) => error.message.trim(),
    ),
    delay(REAPER_TIMEOUT_MS, `no response for ${REAPER_TIMEOUT_MS / 1_000} s`, { ref: false }),
  ])
  return fault && `testcontainers can't start its reaper: ${fault}`
}

export async function openSource(name: SourceName, run: string): Promise<StoreSource> {
  if (name === 'processes') return createProcessSource(run)
  const { createDockerSource } = await import('./from-docker.ts')
  return createDockerSource(run)
}
