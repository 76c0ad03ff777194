import { beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { storeImages } from '../local/stores/docker.ts'
import { createPlant, errorOf, readPlant } from './support/client.ts'
import { buildImage, COMPOSE_MS, composeProject, docker } from './support/compose.ts'
import { TOKEN } from './support/plant-store.ts'

const FILES = ['docker-compose.yml']
const UP_MS = 60_000

/** kill -9 of what runs in a container, which the engine must not take for our wish to stop it. */
function crash(container: string): void {
  const pid = docker('inspect', '--format', '{{.State.Pid}}', container)
  const kill = ['--entrypoint', 'sh', storeImages().redis, '-c', `kill -9 ${pid}`]
  docker('run', '--rm', '--pid', 'host', '--user', 'root', ...kill)
}

/** Expects the services to run without privileges, and on a read-only file system. */
function expectConfined(containers: readonly string[]): void {
  const attempt = `
    const { writeFileSync } = require('node:fs')
    const codes = ['/plant-store/x', '/tmp/x', '/run/plant-store/x'].map((file) => {
      try { writeFileSync(file, '') } catch ({ code }) { return code }
    })
    console.log(JSON.stringify({ uid: process.getuid(), codes }))`
  for (const container of containers) {
    const found = JSON.parse(docker('exec', container, 'node', '-e', attempt))
    expect(found).toEqual({ uid: 1000, codes: ['EROFS', 'EROFS', 'EROFS'] })
  }
}

describe.skipIf(inject('storeSource') !== 'docker')('docker compose up', () => {
  beforeAll(() => buildImage(), COMPOSE_MS)

  it('a plant survives a restart and the crash of each container', async () => {
    const store = await composeProject(FILES, { PLANT_STORE_TOKEN: TOKEN })
    await store.up()
    expect((await createPlant(store.url, 1n, 'Monstera')).response?.status).toBe(200)
    expect(errorOf((await createPlant(store.url, 1n, 'Monstera')).response)).toBe(40003)
    expect(errorOf(await readPlant(store.url, 1n, { authorization: 'Bearer another' }))).toBe(40101)

    await store.run('stop')
    const exitCode = (container: string) => docker('inspect', '--format', '{{.State.ExitCode}}', container)
    expect(['api', 'projector'].flatMap(store.containersOf).map(exitCode)).toEqual(['0', '0'])
    await store.up()
    expect((await readPlant(store.url, 1n))?.body).toMatchObject({ name: 'Monstera', tag: 'test' })

    for (const [n, service] of ['api', 'projector', 'kafka', 'redis'].entries()) {
      store.containersOf(service).forEach(crash)
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

  it('creates and prints a token when none is given, and confines the services', async () => {
    const store = await composeProject(FILES)
    await store.up()
    expectConfined(['api', 'projector'].flatMap(store.containersOf))
    expect(await store.run('exec', '-T', 'api', 'plantctl', 'status')).toMatch(/^No problems/m)
    const token = /token {2}(\S+)/.exec(await store.run('logs', '--no-color', 'setup'))?.[1]
    const created = await createPlant(store.url, 1n, 'Monstera', { authorization: `Bearer ${token}` })
    expect(created.response?.status).toBe(200)
    expect(errorOf((await createPlant(store.url, 1n, 'Monstera')).response)).toBe(40101)
  })
})
