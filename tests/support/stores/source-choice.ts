import { Failure } from '../../../local/processes/failure.mjs'
import { createProcessSource } from './from-processes.ts'
import type { StoreSource } from './store-source.ts'

export type SourceName = 'docker' | 'processes'

/**
 * The requested source, or else Docker when it is available, or else processes.
 *
 * @param requested the value of PLANT_STORE_TEST_WITH
 * @param whyNoDocker resolves with the reason when Docker is not available
 * @param say prints the choice, and the reason when it is not Docker
 * @throws {Failure} when the requested source is not available
 */
export async function chooseSource(
  requested: string | undefined,
  whyNoDocker: () => Promise<string | undefined>,
  say: (line: string) => void,
): Promise<SourceName> {
  if (requested && requested !== 'docker' && requested !== 'processes') {
    throw new Failure(`PLANT_STORE_TEST_WITH=${requested}: expected docker or processes`)
  }
  const asProcesses = 'The tests run Kafka and Redis as processes'
  if (requested === 'processes') {
    say(`${asProcesses}: PLANT_STORE_TEST_WITH requests them.`)
    return 'processes'
  }
  const obstacle = await whyNoDocker()
  if (obstacle === undefined) {
    say('The tests run Kafka and Redis in Docker.')
    return 'docker'
  }
  if (requested === 'docker') {
    throw new Failure(`PLANT_STORE_TEST_WITH=docker: ${obstacle}. PLANT_STORE_TEST_WITH=processes needs none.`)
  }
  say(`${asProcesses}: ${obstacle}.`)
  return 'processes'
}

export async function openSource(name: SourceName, run: string): Promise<StoreSource> {
  if (name === 'processes') return createProcessSource(run)
  // Imported only where it is used: testcontainers takes 0.2 s to load.
  const { createDockerSource } = await import('./from-docker.ts')
  return createDockerSource(run)
}
