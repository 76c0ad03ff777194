import { Failure } from '../../../local/processes/failure.mjs'
import { createProcessSource } from './from-processes.ts'
import type { StoreSource } from './store-source.ts'

export type SourceName = 'docker' | 'processes'

/**
 * Docker when it serves, else processes, unless one is asked for.
 *
 * @param asked what PLANT_STORE_TEST_WITH says
 * @param whyNoDocker tells what keeps Docker from serving, when something does
 * @param say told which one it is, and why not Docker
 * @throws {Failure} when what is asked for can't be had
 */
export async function chooseSource(
  asked: string | undefined,
  whyNoDocker: () => Promise<string | undefined>,
  say: (line: string) => void,
): Promise<SourceName> {
  if (asked && asked !== 'docker' && asked !== 'processes') {
    throw new Failure(`PLANT_STORE_TEST_WITH=${asked}: expected docker or processes`)
  }
  const asProcesses = 'The tests run Kafka and Redis as processes'
  if (asked === 'processes') {
    say(`${asProcesses}: PLANT_STORE_TEST_WITH asks for them.`)
    return 'processes'
  }
  const obstacle = await whyNoDocker()
  if (obstacle === undefined) {
    say('The tests run Kafka and Redis in Docker.')
    return 'docker'
  }
  if (asked === 'docker') {
    throw new Failure(
      `PLANT_STORE_TEST_WITH=docker: ${obstacle}. PLANT_STORE_TEST_WITH=processes needs none.`,
    )
  }
  say(`${asProcesses}: ${obstacle}.`)
  return 'processes'
}

export async function openSource(name: SourceName, run: string): Promise<StoreSource> {
  if (name === 'processes') return createProcessSource(run)
  // Only where it is used: testcontainers takes 0.2 s to load, in each test file anew.
  const { createDockerSource } = await import('./from-docker.ts')
  return createDockerSource(run)
}
