import { createApp } from '@plant-store/api/src/app.ts'
import { ApiSettings } from '@plant-store/api/src/settings.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { parse, stringify } from 'yaml'

/** Settings that have no default, and play no part. */
const NOWHERE = { KAFKA_BROKERS: 'nowhere:1', REDIS_URL: 'redis://nowhere' }

/** The api's app with the default settings, for requests that ask for nothing of what its operations would. */
export async function createDefaultApp() {
  const limits = readSettings(ApiSettings, NOWHERE)
  const nothing = {} as never
  const log = createLog('describe', 'error')
  const asked = { strategies: [nothing], creation: nothing, reader: nothing, lister: nothing }
  const { app } = await createApp({ log, limits, partitions: 1, ...asked })
  return app
}

/** The description of the HTTP interface with the default settings, as the service itself gives it, in YAML. */
export async function defaultDescription(): Promise<string> {
  const app = await createDefaultApp()
  const { body } = await app.inject('/openapi.json')
  await app.close()
  // JSON is YAML, too, and as such its integers can be kept exact.
  const document = parse(body, { intAsBigInt: true })
  const text = stringify(document, { blockQuote: 'literal', lineWidth: 0, aliasDuplicateObjects: false })
  return `# Written by \`npm run describe\`.\n${text}`
}
