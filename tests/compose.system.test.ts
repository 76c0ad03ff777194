import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { root } from '../local/places.mjs'
import { freePort } from '../local/processes/port.mjs'
import { compose, storeImages } from '../local/stores/docker.mjs'
import { createPlant, errorOf, readPlant } from './support/client.ts'
import { TOKEN } from './support/plant-store.ts'
import { registerProject } from './support/test-run.ts'

const IMAGE = 'plant-store-test'
const BUILD_MS = 600_000
const UP_MS = 60_000
const HEALTHY_AT_MS = 90_000

const docker = (...args: string[]) => execFileSync('docker', args, { cwd: root, encoding: 'utf8' }).trim()

/** The plant store of docker-compose.yml with ports, volumes and containers of its own; it ends with the test. */
async function composeUp(settings: Record<string, string> = {}) {
  const project = `plant-store-test-${randomUUID().slice(0, 8)}`
  const names = ['PORT', 'OPS_PORT', 'PROJECTOR_OPS_PORT', 'KAFKA_PORT', 'REDIS_PORT']
  const ports = Object.fromEntries(await Promise.all(names.map(async (name) => [name, String(await freePort())])))
  const env = {
    ...ports,
    PLANT_STORE_IMAGE: IMAGE,
    PLANT_STORE_RESTART: 'on-failure',
    // Not those of the environment of the tests.
    ...{ PLANT_STORE_TOKEN: '', PLANT_STORE_TOKEN_DIGESTS: '', PLANT_STORE_TOKEN_DIGESTS_FILE: '' },
    ...settings,
  }
  registerProject(inject('testRun'), project)
  onTestFinished(async () => {
    await compose(project, ['down', '--volumes', '--timeout', '5'], { env })
  }, UP_MS)
  const containerOf = (service: string) =>
    docker(
      'ps',
      '-aq',
      ...['--filter', `label=com.docker.compose.project=${project}`],
      ...['--filter', `label=com.docker.compose.service=${service}`],
    )
  const store = {
    url: `http://127.0.0.1:${ports.PORT}`,
    containerOf,
    health: (service: string) => docker('inspect', '--format', '{{.State.Health.Status}}', containerOf(service)),
    run: (...args: string[]) => compose(project, args, { env }),
    async up() {
      await compose(project, ['up', '--detach', '--no-build'], { env })
      await vi.waitFor(() => expect(['api', 'projector'].map(store.health)).toEqual(['healthy', 'healthy']), {
        timeout: HEALTHY_AT_MS,
        interval: 500,
      })
    },
  }
  return store
}

/** kill -9 of what runs in a container, which the engine must not take for our wish to stop it. */
function crash(container: string): void {
  const pid = docker('inspect', '--format', '{{.State.Pid}}', container)
  const kill = ['--entrypoint', 'sh', storeImages().redis, '-c', `kill -9 ${pid}`]
  docker('run', '--rm', '--pid', 'host', '--user', 'root', ...kill)
}

describe.skipIf(inject('storeSource') !== 'docker')('docker compose up', () => {
  beforeAll(() => {
    // With the host's network: a container's own need not reach the package registry.
    execFileSync('docker', ['build', '--quiet', '--network', 'host', '--tag', IMAGE, '.'], {
      cwd: root,
    })
  }, BUILD_MS)

  it('a plant survives a restart and the crash of each container', async () => {
    const store = await composeUp({ PLANT_STORE_TOKEN: TOKEN })
    await store.up()
    expect((await createPlant(store.url, 1n, 'Monstera')).response?.status).toBe(200)
    expect(errorOf((await createPlant(store.url, 1n, 'Monstera')).response)).toBe(40003)
    expect(errorOf(await readPlant(store.url, 1n, { authorization: 'Bearer another' }))).toBe(40101)

    await store.run('stop')
    const exitCode = (service: string) =>
      docker('inspect', '--format', '{{.State.ExitCode}}', store.containerOf(service))
    expect(['api', 'projector'].map(exitCode)).toEqual(['0', '0'])
    await store.up()
    expect((await readPlant(store.url, 1n))?.body).toEqual({ name: 'Monstera', tag: 'test' })

    for (const [n, service] of ['api', 'projector', 'kafka', 'redis'].entries()) {
      crash(store.containerOf(service))
      const id = BigInt(n + 2)
      await vi.waitFor(
        async () => {
          const { response } = await createPlant(store.url, id, 'Ficus', { 'idempotency-key': service })
          expect(response?.status).toBe(200)
        },
        { timeout: UP_MS, interval: 200 },
      )
      expect(errorOf((await createPlant(store.url, 1n, 'Monstera')).response)).toBe(40003)
    }
  })

  it('creates and prints a token when none is given', async () => {
    const store = await composeUp()
    await store.up()
    const token = /token {2}(\S+)/.exec(await store.run('logs', '--no-color', 'setup'))?.[1]
    const created = await createPlant(store.url, 1n, 'Monstera', { authorization: `Bearer ${token}` })
    expect(created.response?.status).toBe(200)
    expect(errorOf((await createPlant(store.url, 1n, 'Monstera')).response)).toBe(40101)
  })

  it('runs the services without privileges and on a read-only file system', async () => {
    const store = await composeUp({ PLANT_STORE_TOKEN: TOKEN })
    await store.up()
    const attempt = `
      const { writeFileSync } = require('node:fs')
      const codes = ['/plant-store/x', '/tmp/x', '/run/plant-store/x'].map((file) => {
        try { writeFileSync(file, '') } catch ({ code }) { return code }
      })
      console.log(JSON.stringify({ uid: process.getuid(), codes }))`
    for (const service of ['api', 'projector']) {
      const found = JSON.parse(docker('exec', store.containerOf(service), 'node', '-e', attempt))
      expect(found).toEqual({ uid: 1000, codes: ['EROFS', 'EROFS', 'EROFS'] })
    }
  })
})

it('the same Kafka runs in containers and as a process', async () => {
  const pom = readFileSync(new URL('../local/stores/pom.xml', import.meta.url), 'utf8')
  const version = /<kafka.version>(.*)<\/kafka.version>/.exec(pom)?.[1]
  expect(storeImages().kafka).toBe(`apache/kafka:${version}`)
})
