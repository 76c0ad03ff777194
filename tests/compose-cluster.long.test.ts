import { beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createPlant, errorOf } from './support/client.ts'
import { buildImage, COMPOSE_MS, composeProject, docker } from './support/compose.ts'
import { startPatientCreates } from './support/endless-creates.ts'
import { TOKEN } from './support/plant-store.ts'

const FILES = ['docker-compose.yml', 'docker-compose.cluster.yml']
const SOME_CREATES = 100
const RECOVERED = { timeout: 120_000, interval: 1_000 }

describe.skipIf(inject('storeSource') !== 'docker')('docker compose up, with the cluster', () => {
  beforeAll(() => buildImage(), COMPOSE_MS)

  it(
    'no create fails while containers of each kind are away, one after the other',
    async () => {
      const store = await composeProject(FILES, { PLANT_STORE_TOKEN: TOKEN })
      const plantctl = (...args: string[]) => store.run('run', '--rm', '-T', 'plantctl', ...args)
      const expectNoProblems = () =>
        vi.waitFor(async () => expect(await plantctl('status')).toMatch(/^No problems/m), RECOVERED)
      await store.up()
      await expectNoProblems()
      for (const service of ['api', 'projector']) {
        const passwords = await store.run('exec', '-T', service, 'ls', '/run/passwords')
        expect(passwords.trim(), 'the password of its own user and no other').toBe(service)
      }

      const load = startPatientCreates(store.url)
      for (const service of ['kafka-2', 'redis', 'sentinel-1', 'api', 'projector']) {
        const container = store.containersOf(service)[0] as string
        await load.untilMore(SOME_CREATES)
        docker('kill', container)
        await load.untilMore(SOME_CREATES)
        docker('start', container)
        await expectNoProblems()
      }
      const creates = await load.stop()
      expect(creates.filter(({ response }) => response?.status !== 200)).toEqual([])
      expect(errorOf((await createPlant(store.url, 0n, 'another')).response)).toBe(40003)
      expect(await plantctl('verify')).toMatch(/no difference/)
    },
    COMPOSE_MS,
  )
})
