import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, vi } from 'vitest'
import { root } from '../../local/places.mjs'
import { freePort } from '../../local/processes/port.ts'
import { compose } from '../../local/stores/docker.ts'
import { reapProject } from './stores/from-docker.ts'

export const IMAGE = 'plant-store-test'
/** The profile for observability is left out: no test starts it. */
const PORTS = ['PORT', 'OPS_PORT', 'PROJECTOR_OPS_PORT', 'KAFKA_PORT', 'KAFKA_2_PORT', 'KAFKA_3_PORT', 'REDIS_PORT']
const DOWN_MS = 150_000
const HEALTHY_AT_MS = 90_000

/** The limit of a test that starts a plant store by compose, with the build of its image. */
export const COMPOSE_MS = 1_200_000

export const docker = (...args: string[]) => execFileSync('docker', args, { cwd: root, encoding: 'utf8' }).trim()

/** Builds the image of the services, with the host's network: a container's own need not reach the package registry. */
export function buildImage(buildArgs: Record<string, string> = {}): void {
  const given = Object.entries(buildArgs).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`])
  // An engine that cannot get the base by its digest needs another Dockerfile.
  const file = process.env.PLANT_STORE_TEST_DOCKERFILE ?? 'Dockerfile'
  docker('build', '--quiet', '--network', 'host', '--tag', IMAGE, '--file', file, ...given, '.')
}

/**
 * A plant store of these compose files with separate ports, volumes and containers, not started yet; it ends with the
 * test.
 */
export async function composeProject(files: readonly string[], settings: Record<string, string> = {}) {
  const project = `plant-store-test-${randomUUID().slice(0, 8)}`
  const ports = Object.fromEntries(await Promise.all(PORTS.map(async (name) => [name, String(await freePort())])))
  const env = {
    ...ports,
    PLANT_STORE_IMAGE: IMAGE,
    PLANT_STORE_RESTART: 'on-failure',
    // Tokens from the environment of the tests must not apply.
    ...{ PLANT_STORE_TOKEN: '', PLANT_STORE_TOKEN_DIGESTS: '', PLANT_STORE_TOKEN_DIGESTS_FILE: '' },
    ...settings,
  }
  const run = (...args: string[]) => compose(project, args, { env, files })
  await reapProject(project)
  onTestFinished(async () => {
    await run('down', '--volumes', '--timeout', '5')
  }, DOWN_MS)
  const containersOf = (service: string) =>
    docker(
      'ps',
      '-aq',
      ...['--filter', `label=com.docker.compose.project=${project}`],
      ...['--filter', `label=com.docker.compose.service=${service}`],
    ).split('\n')
  const health = (container: string) => docker('inspect', '--format', '{{.State.Health.Status}}', container)
  return {
    url: `http://127.0.0.1:${ports.PORT}`,
    run,
    containersOf,

    /** Starts what does not run, and resolves when all instances of both services are ready. */
    async up(): Promise<void> {
      await run('up', '--detach', '--no-build')
      await vi.waitFor(
        () => {
          const states = ['api', 'projector'].flatMap(containersOf).map(health)
          expect(states).toEqual(states.map(() => 'healthy'))
        },
        { timeout: HEALTHY_AT_MS, interval: 500 },
      )
    },
  }
}
