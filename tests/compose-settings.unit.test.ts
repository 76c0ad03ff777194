import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiSettings } from '@plant-store/api/src/settings.ts'
import { SERVICE_SETTINGS } from '@plant-store/shared/stores/store-settings.ts'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { root } from '../local/places.mjs'
import { storeImages } from '../local/stores/docker.ts'

it('docker compose passes on all settings that docs/reference/settings.md names', () => {
  const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8')
  const settings = Object.keys({ ...SERVICE_SETTINGS, ...ApiSettings.properties })
  const missing = settings.filter((setting) => !new RegExp(`\\$\\{${setting}\\b`).test(compose))
  expect(missing.sort()).toEqual(['HOST', 'OTEL_SERVICE_NAME'])
})

it.each(['docker-compose.yml', 'docker-compose.cluster.yml'])('what writes rows by %s knows their source', (file) => {
  const compose: { services: Record<string, { environment?: Record<string, string> }> } = parse(
    readFileSync(join(root, file), 'utf8'),
    { merge: true, customTags: [{ tag: '!reset', collection: 'seq' }] },
  )
  const withTable = Object.entries(compose.services).filter(([, { environment }]) => environment?.PLANTS_TABLE)
  expect(withTable).not.toEqual([])
  for (const [service, { environment }] of withTable)
    expect([service, environment?.EVENT_SOURCE]).toEqual([service, expect.stringContaining('{EVENT_SOURCE:-}')])
})

it('of all containers only the one that creates the token can read it; the api has its digest', () => {
  const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true })
  const placesOf = (service: string): string[] => services[service].volumes ?? []
  const { TOKENS_DIR, DIGESTS_DIR } = services.setup.environment
  const volumeAt = (place: string) =>
    placesOf('setup')
      .find((volume) => volume.endsWith(`:${place}`))
      ?.split(':')[0]
  const readersOf = (place: string) =>
    Object.keys(services).filter((name) => placesOf(name).some((volume) => volume.startsWith(`${volumeAt(place)}:`)))
  expect([readersOf(TOKENS_DIR), readersOf(DIGESTS_DIR)]).toEqual([['setup'], ['setup', 'api']])
})

it('the same Kafka runs in containers and as a process', () => {
  const pom = readFileSync(join(root, 'local/stores/pom.xml'), 'utf8')
  expect(storeImages().kafka).toBe(`apache/kafka:${/<kafka.version>(.*)<\/kafka.version>/.exec(pom)?.[1]}`)
})
