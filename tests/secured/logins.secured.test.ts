import { randomUUID } from 'node:crypto'
import { copyFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { reasonOf, TokenMissing } from '@plant-store/shared/event-log/broker-errors.ts'
import { createKafka, type Security, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { securityOf } from '@plant-store/shared/event-log/kafka-security.ts'
import { KAFKA_SETTINGS } from '@plant-store/shared/event-log/kafka-settings.ts'
import { kafkajsModule } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import type { AuthenticationProviderArgs, Kafka } from 'kafkajs'
import { Type } from 'typebox'
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest'
import { type Certified, createAuthority } from '../../local/stores/certificates.ts'
import { createPlant, errorOf, readPlant } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { newEvent } from '../support/new-events.ts'
import { npmStart, prepareStart, stopStart } from '../support/npm-start.ts'
import { createPlantStore } from '../support/plant-store.ts'
import { quietLog } from '../support/quiet-log.ts'
import { untilNotReady, untilReady } from '../support/readiness.ts'
import { PASSWORD, startSecuredKafka } from '../support/secured-kafka.ts'
import { startLoadedStore } from '../support/steady-load.ts'
import { startTokenEndpoint } from '../support/token-endpoint.ts'
import { createTestTopic } from '../support/topic.ts'
import { createTrustedAuthority } from '../support/trusted-authority.ts'

const USER = 'plants'
const P = 0 as Partition
const SESSION_MS = 5_000
/** So short that Kafka ends the session with the token. */
const TOKEN_LIFETIME_S = 6
/** Less than brokers keep an idle connection. */
const CLOSED_WITHIN = { timeout: 20_000, interval: 20 }
/** More than `npmStart` waits. */
const NPM_START = { timeout: 300_000 }

/** An authority that no broker trusts. */
let otherAuthority: ReturnType<typeof createAuthority>
let kafka: Awaited<ReturnType<typeof startSecuredKafka>>
let tokens: Awaited<ReturnType<typeof startTokenEndpoint>>
/** The settings of each way to log in, without what the cases vary. */
let logins: Record<'scram' | 'oauth' | 'tls', Record<string, string>>
/** The file of the password of SCRAM. */
let passwordFile: string

beforeAll(async () => {
  tokens = await startTokenEndpoint(USER, { lifetimeS: TOKEN_LIFETIME_S })
  kafka = await startSecuredKafka({
    users: [USER],
    tokenKeysUrl: tokens.keysUrl,
    moreSettings: { 'connections.max.reauth.ms': String(SESSION_MS) },
  })
  await kafka.allowAll(USER)
  otherAuthority = createAuthority(kafka.dir, 'other')
  passwordFile = join(kafka.dir, 'password')
  writeFileSync(passwordFile, `${PASSWORD}\n`)
  const authority = { KAFKA_SSL_CA_FILE: kafka.authority.ca }
  const common = { ...authority, KAFKA_BROKERS: kafka.saslTls, KAFKA_SECURITY_PROTOCOL: 'SASL_SSL' }
  logins = {
    scram: { ...common, KAFKA_SASL_USERNAME: USER, KAFKA_SASL_PASSWORD_FILE: passwordFile },
    oauth: {
      ...{ ...common, KAFKA_SASL_MECHANISM: 'OAUTHBEARER' },
      ...{ KAFKA_SASL_OAUTH_TOKEN_URL: tokens.url, KAFKA_SASL_OAUTH_CLIENT_ID: USER },
    },
    tls: { ...authority, KAFKA_BROKERS: kafka.tls, KAFKA_SECURITY_PROTOCOL: 'SSL' },
  }
})
afterAll(async () => {
  tokens?.close()
  await kafka?.stop()
})

/** A store and its services, which have these settings. */
async function startServices(settings: Record<string, string>) {
  const store = await createPlantStore({ kafkaBrokers: kafka.brokers })
  return Promise.all([store.startApi(settings), store.startProjector(settings)])
}

// The services log in by PLAIN in rights.secured, by SCRAM in cluster.secured, and by tokens below.
it('a plant is created and read with a certificate', async () => {
  const { cert, key } = kafka.authority.issue('user', USER)
  const [api] = await startServices({ ...logins.tls, KAFKA_SSL_CERT_FILE: cert, KAFKA_SSL_KEY_FILE: key })
  expect((await createPlant(api.url, 1n, 'Monstera')).response?.status).toBe(200)
  expect((await readPlant(api.url, 1n))?.body).toMatchObject({ name: 'Monstera' })
})

/** A client that logs in like this, and its connections. */
function connectingClient(sasl: Security['sasl']) {
  const sockets: Socket[] = []
  const client = createKafka(kafka.sasl.split(','), 'test', quietLog, {
    sasl,
    socketFactory({ host, port, onConnect }) {
      const socket = connect({ host, port }, onConnect)
      sockets.push(socket)
      return socket
    },
  })
  return { client, sockets }
}

it('a login that ends half-way leaves no connection open, and does not make Kafka refuse the next one', async () => {
  const { topic } = await createTestTopic(kafka.brokers, 1)
  const logIn = kafkajsModule('src/broker/saslAuthenticator/plain.js')({ username: USER, password: PASSWORD })
  let isTokenMissing = false
  const authenticationProvider = (args: AuthenticationProviderArgs) => ({
    async authenticate() {
      if (isTokenMissing) throw new TokenMissing('no token')
      await logIn(args).authenticate()
    },
  })
  const { client, sockets } = connectingClient({ mechanism: 'plain', authenticationProvider })
  const appender = createAppender(client, topic)
  onTestFinished(appender.close)
  await vi.waitFor(async () => {
    await appender.refreshLeaders()
    expect(appender.leaderOf(P)).toBeDefined()
  }, CLOSED_WITHIN)
  const batches = new Map([[P, [newEvent(1n, 1)]]])
  const append = async () => (await appender.send(appender.leaderOf(P) as number, 'healthy', batches)).get(P)
  isTokenMissing = true
  const before = sockets.length
  for (let attempt = 0; attempt < 4; attempt++)
    expect(await append()).toMatchObject({ is: 'refused', why: 'transient', cause: { message: 'no token' } })
  expect(sockets.length).toBeGreaterThan(before)
  await vi.waitFor(() => expect(sockets.slice(before).map(({ closed }) => closed)).not.toContain(false), CLOSED_WITHIN)
  isTokenMissing = false
  expect(await append()).toMatchObject({ is: 'appended' })
})

it(
  'npm start with secured stores elsewhere, a certificate and a proxy creates the topic and starts both services alone',
  NPM_START,
  async () => {
    const { cert, key } = createTrustedAuthority().issue('127.0.0.1')
    const { localDir, environment } = await prepareStart({
      ...{ ...logins.scram, KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512' },
      REDIS_URL: inject('redisUrl'),
      PLANTS_TOPIC: `plants-${randomUUID()}`,
      EVENT_SOURCE: '/greenhouse',
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: 'http://127.0.0.1:1',
      HTTP_TLS_CERT_FILE: cert,
      HTTP_TLS_KEY_FILE: key,
    })
    const run = await npmStart(localDir, environment, '--with', 'external')
    expect(Object.keys(run.pids).sort()).toEqual(['api', 'launcher', 'projector'])
    expect(run.dockerProject).toBeUndefined()
    expect(run.storeSettings.plantctl).toMatchObject({ EVENT_SOURCE: '/greenhouse' })
    expect(run.log()).toContain('Plant Store is ready at https://')
    expect((await createPlant(run.url, 1n, 'Monstera')).response?.status).toBe(200)
    await stopStart(run.launcher)
  },
)

/** A client with these settings of a service. */
function clientOf(settings: Record<string, string>): Kafka {
  const read = readSettings(Type.Object(KAFKA_SETTINGS), settings)
  return createKafka(read.KAFKA_BROKERS.split(','), 'test', quietLog, securityOf(read))
}

/** The text that says what to correct; undefined when Kafka accepts the client. */
const refusalBy = (client: Kafka): Promise<string | undefined> =>
  withAdmin(client, (admin) => admin.describeCluster()).then(() => undefined, reasonOf)

const LOGIN = /Kafka refuses the login: correct KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD/
const CERTIFICATE = /localhost:\d+ refuses the TLS connection \([A-Z\d_/]+\): correct KAFKA_SSL_CERT_FILE/

it.each<[string, () => Record<string, string>, RegExp]>([
  ['the password', () => ({ ...kafka.loginOf(USER), KAFKA_SASL_PASSWORD: 'wrong' }), LOGIN],
  [
    'the authority',
    () => ({ ...logins.tls, KAFKA_SSL_CA_FILE: otherAuthority.ca }),
    /the certificate of localhost:\d+ is not accepted \([A-Z\d_]+\): correct KAFKA_SSL_CA_FILE/,
  ],
  [
    'the host name',
    () => ({ ...logins.tls, KAFKA_BROKERS: kafka.tls.replaceAll('localhost', '127.0.0.1') }),
    /the certificate of 127\.0\.0\.1:\d+ is for another address \([A-Z\d_]+\): .*KAFKA_BROKERS/,
  ],
  ['no certificate', () => logins.tls, CERTIFICATE],
  [
    'a listener without SASL',
    () => ({ ...kafka.loginOf(USER), KAFKA_BROKERS: kafka.brokers }),
    /Kafka expects no SASL login on this port: correct KAFKA_SECURITY_PROTOCOL/,
  ],
  [
    'a mechanism that the listener does not offer',
    () => ({ ...kafka.loginOf(USER), KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512' }),
    /Kafka does not offer this SASL mechanism: correct KAFKA_SASL_MECHANISM/,
  ],
])('it is said what to correct when Kafka refuses a client by %s', async (_what, settings, reason) => {
  expect(await refusalBy(clientOf(settings()))).toMatch(reason)
})

it('no request fails while sessions begin and end', async () => {
  const environment = { kafkaBrokers: kafka.brokers }
  const { api, projector, load, expectNoHarm } = await startLoadedStore(environment, kafka.loginOf(USER))
  const { client, sockets } = connectingClient({ mechanism: 'plain', username: USER, password: PASSWORD })
  await withAdmin(client, async (admin) => {
    const until = Date.now() + 3 * SESSION_MS
    while (Date.now() < until) await Promise.all([load.goesOn(), admin.describeCluster()])
    // Kafka closes a connection that does not log in again, and a client that is not served connects again.
    expect(sockets.map(({ closed }) => closed)).toEqual(sockets.map(() => false))
  })
  await untilReady(api, projector)
  await expectNoHarm()
})

it('a password changes while the services run', async () => {
  const services = await startServices({ ...logins.scram, KAFKA_SASL_MECHANISM: 'SCRAM-SHA-256' })
  await kafka.setScramPassword(USER, 'another')
  for (const service of services) await untilNotReady(service, LOGIN)
  let nextId = 1n
  const create = async () => (await createPlant(services[0].url, nextId++, 'Monstera')).response
  // The session of the append's connection may have begun later than others.
  await eventually(async () => expect(errorOf(await create())).toBe(50301))
  writeFileSync(passwordFile, 'another')
  await untilReady(...services)
  expect((await create())?.status).toBe(200)
})

it('the secret of a client changes while the services run, whose tokens end every few seconds', async () => {
  const file = join(kafka.dir, 'client-secret')
  writeFileSync(file, tokens.secret())
  const services = await startServices({ ...logins.oauth, KAFKA_SASL_OAUTH_CLIENT_SECRET_FILE: file })
  tokens.changeSecret('another')
  for (const service of services) await untilNotReady(service, /grants no token/)
  writeFileSync(file, 'another')
  await untilReady(...services)
  expect((await createPlant(services[0].url, 1n, 'Monstera')).response?.status).toBe(200)
})

it('a client certificate and the authority of the brokers change under a client', async () => {
  const rotated = (name: string) => join(kafka.dir, `rotated.${name}`)
  const use = (authority: string, { cert, key }: Certified) => {
    copyFileSync(authority, rotated('ca'))
    copyFileSync(cert, rotated('cert'))
    copyFileSync(key, rotated('key'))
  }
  const stranger = otherAuthority.issue('rotated', USER)
  use(otherAuthority.ca, stranger)
  const files = { KAFKA_SSL_CERT_FILE: rotated('cert'), KAFKA_SSL_KEY_FILE: rotated('key') }
  const client = clientOf({ ...logins.tls, ...files, KAFKA_SSL_CA_FILE: rotated('ca') })
  expect(await refusalBy(client)).toMatch(/correct KAFKA_SSL_CA_FILE/)
  use(kafka.authority.ca, stranger)
  expect(await refusalBy(client)).toMatch(CERTIFICATE)
  use(kafka.authority.ca, kafka.authority.issue('renewed', USER))
  expect(await refusalBy(client)).toBeUndefined()
})
