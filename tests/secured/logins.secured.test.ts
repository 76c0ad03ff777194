import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { TokenMissing } from '@plant-store/shared/event-log/broker-errors.ts'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { kafkajsModule } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { AuthenticationProviderArgs } from 'kafkajs'
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest'
import { createPlant, readPlant } from '../support/client.ts'
import { newPlant } from '../support/generated-plants.ts'
import { npmStart, prepareStart, stopStart } from '../support/npm-start.ts'
import { createPlantStore } from '../support/plant-store.ts'
import { quietLog } from '../support/quiet-log.ts'
import { PASSWORD, startSecuredKafka } from '../support/secured-kafka.ts'
import { startTokenEndpoint } from '../support/token-endpoint.ts'
import { createTestTopic } from '../support/topic.ts'

const USER = 'plants'
const P = 0 as Partition
/** Less than brokers keep an idle connection. */
const CLOSED_WITHIN = { timeout: 20_000, interval: 20 }
/** More than `npmStart` waits. */
const NPM_START = { timeout: 300_000 }
const SCRAM_PASSWORD = `a-scram-${PASSWORD}`

let kafka: Awaited<ReturnType<typeof startSecuredKafka>>
let tokens: Awaited<ReturnType<typeof startTokenEndpoint>>
/** The settings of each way to log in. */
let logins: Record<string, Record<string, string>>

beforeAll(async () => {
  tokens = await startTokenEndpoint(USER)
  kafka = await startSecuredKafka({ users: [USER], tokenKeysUrl: tokens.keysUrl })
  await Promise.all([kafka.setScramPassword(USER, SCRAM_PASSWORD), kafka.allowAll(USER)])
  const passwordFile = join(kafka.dir, 'password')
  writeFileSync(passwordFile, `${SCRAM_PASSWORD}\n`)
  const certified = kafka.authority.issue('user', USER)
  const tls = { KAFKA_SSL_CA_FILE: kafka.authority.ca }
  const sasl = { ...tls, KAFKA_BROKERS: kafka.saslTls, KAFKA_SECURITY_PROTOCOL: 'SASL_SSL' }
  const scram = { ...sasl, KAFKA_SASL_USERNAME: USER, KAFKA_SASL_PASSWORD_FILE: passwordFile }
  logins = {
    'PLAIN without TLS': kafka.loginOf(USER),
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
  await kafka?.stop()
})

it.each(['PLAIN without TLS', 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER', 'a certificate'])(
  'a plant is created and read with %s',
  async (login) => {
    const store = await createPlantStore({ kafkaBrokers: kafka.brokers })
    const [api] = await Promise.all([store.startApi(logins[login]), store.startProjector(logins[login])])
    expect((await createPlant(api.url, 1n, 'Monstera')).response?.status).toBe(200)
    expect((await readPlant(api.url, 1n))?.body).toMatchObject({ name: 'Monstera' })
  },
)

it('a login without a password leaves no connection open', async () => {
  const sockets: Socket[] = []
  const authenticate = () => Promise.reject(new Error('the file of the password is missing'))
  const client = createKafka(kafka.sasl.split(','), 'test', quietLog, {
    sasl: { mechanism: 'plain', authenticationProvider: () => ({ authenticate }) },
    socketFactory({ host, port, onConnect }) {
      const socket = connect({ host, port }, onConnect)
      sockets.push(socket)
      return socket
    },
  })
  await expect(withAdmin(client, (admin) => admin.listTopics())).rejects.toThrow('the file of the password is missing')
  expect(sockets.length).toBeGreaterThan(0)
  await vi.waitFor(() => expect(sockets.filter(({ closed }) => !closed)).toHaveLength(0), CLOSED_WITHIN)
})

it('a login that ends half-way does not make Kafka refuse the next one', async () => {
  const { topic } = await createTestTopic(kafka.brokers, 1)
  const logIn = kafkajsModule('src/broker/saslAuthenticator/plain.js')({ username: USER, password: PASSWORD })
  let isTokenMissing = false
  const authenticationProvider = (args: AuthenticationProviderArgs) => ({
    async authenticate() {
      if (isTokenMissing) throw new TokenMissing('no token')
      await logIn(args).authenticate()
    },
  })
  const sasl = { mechanism: 'plain', authenticationProvider }
  const appender = createAppender(createKafka(kafka.sasl.split(','), 'test', quietLog, { sasl }), topic)
  onTestFinished(appender.close)
  await vi.waitFor(async () => {
    await appender.refreshLeaders()
    expect(appender.leaderOf(P)).toBeDefined()
  }, CLOSED_WITHIN)
  const batches = new Map([[P, [plantCreated(newPlant(1n), randomUUID() as EventId, 1)]]])
  const append = async () => (await appender.send(appender.leaderOf(P) as number, 'healthy', batches)).get(P)
  isTokenMissing = true
  for (let attempt = 0; attempt < 4; attempt++)
    expect(await append()).toMatchObject({ is: 'refused', why: 'transient', cause: { message: 'no token' } })
  isTokenMissing = false
  expect(await append()).toMatchObject({ is: 'appended' })
})

it(
  'npm start creates the topic and starts both services with secured stores that run elsewhere',
  NPM_START,
  async () => {
    const { localDir, environment } = await prepareStart({
      ...logins['SCRAM-SHA-512'],
      REDIS_URL: inject('redisUrl'),
      PLANTS_TOPIC: `plants-${randomUUID()}`,
    })
    const run = await npmStart(localDir, environment, '--with', 'external')
    expect((await createPlant(run.url, 1n, 'Monstera')).response?.status).toBe(200)
    await stopStart(run.launcher)
  },
)
