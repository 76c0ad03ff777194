import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiSettings } from '@plant-store/api/src/settings.ts'
import { SERVICE_SETTINGS } from '@plant-store/shared/stores/store-settings.ts'
import { expect, it } from 'vitest'
import { root } from '../local/places.mjs'

it('docker compose passes on all settings that docs/reference/settings.md names', () => {
  const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8')
  const settings = Object.keys({ ...SERVICE_SETTINGS, ...ApiSettings.properties })
  const missing = settings.filter((setting) => !new RegExp(`\\$\\{${setting}\\b`).test(compose))
  expect(missing.sort()).toEqual(['HOST', 'OTEL_SERVICE_NAME'])
})
