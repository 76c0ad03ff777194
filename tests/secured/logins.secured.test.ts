import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest'
import { type Run, readRun } from '../../local/launch/run-file.mjs'
import { root } from '../../local/places.mjs'
import { freePort } from '../../local/processes/port.mjs'
import { startProcess } from '../../local/processes/process.mjs'
import { createPlant, readPlant } from '../support/client.ts'
import { freePortPair } from '../support/free-port-pair.ts'
import { createPlantStore, TOKEN } from '../support/plant-store.ts'
import { PASSWORD, startSecuredKafka } from '../support/secured-kafka.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { processEnvironment, registerGroup, registerProcess } from '../support/test-run.ts'
import { startTokenEndpoint } from '../support/token-endpoint.ts'

const USER = 'plants'
const SCRAM_PASSWORD = 'a-scram-password'
const WAIT = { timeout: 60_000, interval: 50 }

let kafka: Awaited<ReturnType<typeof startSecuredKafka>>
let tokens: Awaited<ReturnType<typeof startTokenEndpoint>>
/** The settings of each way to log in. */
let logins: Record<string, Record<string, string>>

beforeAll(async () => {
  kafka = await startSecuredKafka({ users: [USER] })
  tokens = await startTokenEndpoint(USER)
  await Promise.all([kafka.setScramPassword(USER, SCRAM_PASSWORD), kafka.allowAll(USER)])
  const passwordFile = join(kafka.dir, 'password')
  writeFileSync(passwordFile, `${SCRAM_PASSWORD}\n`)
  const certified = kafka.authority.issue('user', USER)
  const tls = { KAFKA_SSL_CA_FILE: kafka.authority.ca }
  const sasl = { ...tls, KAFKA_BROKERS: kafka.saslTls, KAFKA_SECURITY_PROTOCOL: 'SASL_SSL' }
  const scram = { ...sasl, KAFKA_SASL_USERNAME: USER, KAFKA_SASL_PASSWORD_FILE: passwordFile }
  logins = {
    'PLAIN without TLS': {
      KAFKA_BROKERS: kafka.sasl,
      KAFKA_SECURITY_PROTOCOL: 'SASL_PLAINTEXT',
      KAFKA_SASL_MECHANISM: 'PLAIN',
      KAFKA_SASL_USERNAME: USER,
      KAFKA_SASL_PASSWORD: PASSWORD,
    },
    PLAIN: { ...sasl, KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_SASL_USERNAME: USER, KAFKA_SASL_PASSWORD: PASSWORD },
    'SCRAM-SHA-256': { ...scram, KAFKA_SASL_MECHANISM: 'SCRAM-SHA-256' },
    'SCRAM-SHA-512': { ...scram, KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512' },
    OAUTHBEARER: {
      ...sasl,
      KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
      KAFKA_SASL_OAUTH_TOKEN_URL: tokens.url,
      KAFKA_SASL_OAUTH_CLIENT_ID: USER,
      KAFKA_SASL_OAUTH_CLIENT_SECRET: tokens.secret(),
    },
    'a certificate': {
      ...tls,
      KAFKA_BROKERS: kafka.tls,
      KAFKA_SECURITY_PROTOCOL: 'SSL',
      KAFKA_SSL_CERT_FILE: certified.cert,
      KAFKA_SSL_KEY_FILE: certified.key,
    },
  }
})
afterAll(async () => {
  tokens?.close()
  await kafka?.stop({ graceMs: 1_000 })
})

it.each(['PLAIN without TLS', 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER', 'a certificate'])(
  'a plant is created and read with %s',
  async (login) => {
    const store = await createPlantStore({ kafkaBrokers: kafka.brokers, redisUrl: inject('redisUrl') })
    const [api] = await Promise.all([store.startApi(logins[login]), store.startProjector(logins[login])])
    expect((await createPlant(api.url, 1n, 'Monstera')).response?.status).toBe(200)
    expect((await readPlant(api.url, 1n))?.body).toMatchObject({ name: 'Monstera' })
  },
)

it('npm start creates the topic and starts both services with secured stores that run elsewhere', async () => {
  const localDir = temporaryFolder()
  const launcher = await startProcess({
    name: 'npm start',
    command: process.execPath,
    args: [join(root, 'local/start.mjs'), '--with', 'external'],
    logFile: join(localDir, 'launcher.log'),
    env: {
      ...{ ...processEnvironment, ...logins['SCRAM-SHA-512'], HOME: process.env.HOME, REDIS_URL: inject('redisUrl') },
      ...{ PLANT_STORE_LOCAL_DIR: localDir, PLANT_STORE_TOKEN: TOKEN, PLANTS_TOPIC: `plants-${randomUUID()}` },
      ...{ PORT: String(await freePort()), OPS_PORT: String(await freePortPair()) },
    },
  })
  registerProcess(inject('testRun'), launcher)
  const run = await vi.waitFor(() => {
    const found = readRun(localDir)
    expect(found).toBeDefined()
    return found as Run
  }, WAIT)
  for (const pid of Object.values(run.pids)) registerGroup(inject('testRun'), pid)
  expect((await createPlant(run.url, 1n, 'Monstera')).response?.status).toBe(200)
  expect(await launcher.stop({ graceMs: 10_000 })).toEqual({ code: 0, signal: null })
})
