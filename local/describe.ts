import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createApp } from '@plant-store/api/src/app.ts'
import { ApiSettings } from '@plant-store/api/src/settings.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { parse, stringify } from 'yaml'
import { root } from './places.mjs'

/** Settings without a default; the app does not use them. */
const NOWHERE = { KAFKA_BROKERS: 'nowhere:1', REDIS_URL: 'redis://nowhere' }

/** The api's app with the default settings, for requests that run no operation; pages of these origins may call it. */
export async function createDefaultApp(allowedOrigins: readonly string[] = []) {
  const settings = readSettings(ApiSettings, { ...NOWHERE, CORS_ORIGINS: allowedOrigins.join() })
  const unused = {} as never
  const { app } = await createApp({
    log: createLog('describe', 'error'),
    settings,
    partitions: 1,
    strategies: [unused],
    creation: unused,
    reader: unused,
    lister: unused,
  })
  return app
}

/** The description of the HTTP interface with the default settings, in YAML: what the service serves. */
export async function defaultDescription(): Promise<string> {
  const app = await createDefaultApp()
  const { body } = await app.inject('/openapi.json')
  await app.close()
  // JSON is also YAML, and the YAML parser keeps integers exact.
  const document = parse(body, { intAsBigInt: true })
  const text = stringify(document, { blockQuote: 'literal', lineWidth: 0, aliasDuplicateObjects: false })
  return `# Written by \`npm run describe\`.\n${text}`
}

// `npm run describe` writes the file; a test compares it with the service.
if (import.meta.main) writeFileSync(join(root, 'docs', 'openapi.yaml'), await defaultDescription())
