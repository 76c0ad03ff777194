import { Failure } from '../../../local/processes/failure.mjs'
import { pullMissingImages, whyNoDocker } from '../../../local/stores/docker.ts'
import { createProcessSource, type StoreSource } from './from-processes.ts'

export type SourceName = 'docker' | 'processes'

/**
 * The source that PLANT_STORE_TEST_WITH requests, or else Docker when it is available, or else processes. Prints the
 * choice, and the reason when it is not Docker. Throws a Failure when the requested source is not available.
 */
export async function chooseSource(): Promise<SourceName> {
  const requested = process.env.PLANT_STORE_TEST_WITH
  if (requested && requested !== 'docker' && requested !== 'processes')
    throw new Failure(`PLANT_STORE_TEST_WITH=${requested}: expected docker or processes`)
  const obstacle =
    requested === 'processes'
      ? 'PLANT_STORE_TEST_WITH requests them'
      : ((await whyNoDocker()) ?? (await pullMissingImages()))
  if (obstacle !== undefined && requested === 'docker')
    throw new Failure(`PLANT_STORE_TEST_WITH=docker: ${obstacle}. PLANT_STORE_TEST_WITH=processes needs none.`)
  console.log(`The tests run Kafka and Redis ${obstacle === undefined ? 'in Docker' : `as processes: ${obstacle}`}.`)
  return obstacle === undefined ? 'docker' : 'processes'
}

export async function openSource(name: SourceName, run: string): Promise<StoreSource> {
  if (name === 'processes') return createProcessSource(run)
  // Imported only where it is used: testcontainers takes 0.2 s to load.
  return (await import('./from-docker.ts')).dockerSource
}
