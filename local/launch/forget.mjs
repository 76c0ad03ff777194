import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createContainers, whyNoDocker } from '../stores/docker.mjs'
import { projectOf } from './stores-in-docker.mjs'

/**
 * Forgets the plants of this local folder, those of processes and those of containers.
 *
 * @param {import('./settings.mjs').Settings} settings
 * @param {import('./progress.mjs').Progress} progress
 */
export async function forget({ localDir, kafkaBrokers, redisUrl }, progress) {
  const data = join(localDir, 'data')
  rmSync(data, { recursive: true, force: true })
  progress.say(`Forgot the plants stored in ${data}; the token is kept.`)
  const obstacle = await whyNoDocker()
  if (obstacle === undefined) {
    await progress.step(
      'Forgetting the plants stored in Docker',
      createContainers(projectOf(localDir)).forget,
    )
  } else {
    progress.say(`Left as it is: what Docker may store (${obstacle}).`)
  }
  const elsewhere = [kafkaBrokers && 'KAFKA_BROKERS', redisUrl && 'REDIS_URL'].filter(Boolean)
  if (elsewhere.length > 0)
    progress.say(`Left as it is: what is stored where ${elsewhere.join(' and ')} says.`)
}
