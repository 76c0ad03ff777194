import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { refusalOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { securityOf } from '@plant-store/shared/event-log/kafka-security.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Certified } from '../../local/stores/certificates.ts'
import { createPlant, errorOf, idsWhile, onConnections } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { DEADLINES } from '../support/loaded-store.ts'
import { createPlantStore, openPlantStore, type PlantStore } from '../support/plant-store.ts'
import { quietLog } from '../support/quiet-log.ts'
import { untilNotReady, untilReady } from '../support/readiness.ts'
import { PASSWORD, startSecuredKafka } from '../support/secured-kafka.ts'
import { startTokenEndpoint } from '../support/token-endpoint.ts'
import { expectReadModelToEqual, readTruth } from '../support/truth.ts'

const USER = 'plants'
const SESSION_MS = 5_000
const SCRAM_PASSWORD = `a-scram-${PASSWORD}`
/** So short that Kafka ends the session with the token. */
const TOKEN_LIFETIME_S = 6

let kafka: Awaited<ReturnType<typeof startSecuredKafka>>
let tokens: Awaited<ReturnType<typeof startTokenEndpoint>>
let sasl: Record<string, string>

beforeAll(async () => {
  tokens = await startTokenEndpoint(USER, { lifetimeS: TOKEN_LIFETIME_S })
  kafka = await startSecuredKafka({
    users: [USER],
    tokenKeysUrl: tokens.keysUrl,
    moreSettings: { 'connections.max.reauth.ms': String(SESSION_MS) },
  })
  await Promise.all([kafka.setScramPassword(USER, SCRAM_PASSWORD), kafka.allowAll(USER)])
  sasl = {
    KAFKA_BROKERS: kafka.saslTls,
    KAFKA_SECURITY_PROTOCOL: 'SASL_SSL',
    KAFKA_SSL_CA_FILE: kafka.authority.ca,
    KAFKA_SASL_USERNAME: USER,
  }
})
afterAll(async () => {
  tokens?.close()
  await kafka?.stop()
})

const openStore = () => createPlantStore({ kafkaBrokers: kafka.brokers })

describe('a service that Kafka refuses at its start says what to correct', () => {
  let store: PlantStore
  beforeAll(async () => {
    store = await openPlantStore({ kafkaBrokers: kafka.brokers })
    return store.end
  })

  const oauth = () => {
    const { KAFKA_SASL_USERNAME: _, ...others } = sasl
    return {
      ...{ ...others, KAFKA_SASL_MECHANISM: 'OAUTHBEARER', KAFKA_SASL_OAUTH_TOKEN_URL: tokens.url },
      ...{ KAFKA_SASL_OAUTH_CLIENT_ID: USER, KAFKA_SASL_OAUTH_CLIENT_SECRET: 'wrong' },
    }
  }
  const tls = () => ({
    KAFKA_BROKERS: kafka.tls,
    KAFKA_SECURITY_PROTOCOL: 'SSL',
    KAFKA_SSL_CA_FILE: kafka.authority.ca,
  })
  const unknown = () => {
    const { cert, key } = kafka.otherAuthority.issue('stranger', USER)
    return { ...tls(), KAFKA_SSL_CERT_FILE: cert, KAFKA_SSL_KEY_FILE: key }
  }

  it.each<[string, () => Record<string, string>, RegExp]>([
    [
      'the password of PLAIN',
      () => ({ ...sasl, KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_SASL_PASSWORD: 'wrong' }),
      /Kafka refuses the login: correct KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD/,
    ],
    [
      'the password of SCRAM',
      () => ({ ...sasl, KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512', KAFKA_SASL_PASSWORD: 'wrong' }),
      /Kafka refuses the login: correct KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD/,
    ],
    ['the secret of the client', oauth, /grants no token \(invalid_client\): correct .*KAFKA_SASL_OAUTH_CLIENT_SECRET/],
    [
      'the authority',
      () => ({ ...tls(), KAFKA_SSL_CA_FILE: kafka.otherAuthority.ca }),
      /the certificate of localhost:\d+ is not accepted \([A-Z\d_]+\): correct KAFKA_SSL_CA_FILE/,
    ],
    [
      'the host name',
      () => ({ ...tls(), KAFKA_BROKERS: kafka.tls.replaceAll('localhost', '127.0.0.1') }),
      /the certificate of 127\.0\.0\.1:\d+ is for another address \([A-Z\d_]+\): .*KAFKA_BROKERS/,
    ],
    [
      'the certificate',
      unknown,
      /localhost:\d+ refuses the TLS connection \([A-Z\d_/]+\): correct KAFKA_SSL_CERT_FILE/,
    ],
    ['no certificate', tls, /localhost:\d+ refuses the TLS connection \([A-Z\d_/]+\): correct KAFKA_SSL_CERT_FILE/],
    [
      'a listener without SASL',
      () => ({ ...kafka.loginOf(USER), KAFKA_BROKERS: kafka.brokers }),
      /Kafka expects no SASL login on this port: correct KAFKA_SECURITY_PROTOCOL/,
    ],
    [
      'a mechanism that the listener does not offer',
      () => ({ ...kafka.loginOf(USER), KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512', KAFKA_SASL_PASSWORD: SCRAM_PASSWORD }),
      /Kafka does not offer this SASL mechanism: correct KAFKA_SASL_MECHANISM/,
    ],
  ])('%s', async (_what, settings, reason) => {
    const api = await store.startApi(settings(), 'listening')
    await untilNotReady(api, reason)
    await api.stop({ graceMs: 1_000 })
  })
})

it('no create fails while sessions begin and end', async () => {
  const settings = kafka.loginOf(USER)
  const store = await openStore()
  const services = await Promise.all([store.startApi({ ...settings, ...DEADLINES }), store.startProjector(settings)])
  const until = Date.now() + 3 * SESSION_MS
  const ids = idsWhile(() => Date.now() < until)
  const creates = await onConnections(8, ids, (id) => createPlant(services[0].url, id, 'Monstera'))
  expect(creates.filter(({ response }) => response?.status !== 200)).toEqual([])
  await untilReady(...services)
  await expectReadModelToEqual(await readTruth(store), store)
})

describe('a secret that changes while the services run', () => {
  it('is a password', async () => {
    const store = await openStore()
    const file = join(kafka.dir, 'password')
    writeFileSync(file, SCRAM_PASSWORD)
    const settings = { ...sasl, KAFKA_SASL_MECHANISM: 'SCRAM-SHA-256', KAFKA_SASL_PASSWORD_FILE: file }
    const services = await Promise.all([store.startApi(settings), store.startProjector(settings)])
    await kafka.setScramPassword(USER, 'another')
    for (const service of services) await untilNotReady(service, /Kafka refuses the login/)
    let nextId = 1n
    const create = async () => (await createPlant(services[0].url, nextId++, 'Monstera')).response
    // The session of the append's connection may have begun later than others.
    await eventually(async () => expect(errorOf(await create())).toBe(50301))
    writeFileSync(file, 'another')
    await untilReady(...services)
    expect((await create())?.status).toBe(200)
  })

  it('is the secret of a client, whose tokens end every few seconds', async () => {
    const store = await openStore()
    const file = join(kafka.dir, 'client-secret')
    writeFileSync(file, tokens.secret())
    const { KAFKA_SASL_USERNAME: _, ...others } = sasl
    const settings = {
      ...{ ...others, KAFKA_SASL_MECHANISM: 'OAUTHBEARER', KAFKA_SASL_OAUTH_TOKEN_URL: tokens.url },
      ...{ KAFKA_SASL_OAUTH_CLIENT_ID: USER, KAFKA_SASL_OAUTH_CLIENT_SECRET_FILE: file },
    }
    const services = await Promise.all([store.startApi(settings), store.startProjector(settings)])
    tokens.changeSecret('another')
    for (const service of services) await untilNotReady(service, /grants no token/)
    writeFileSync(file, 'another')
    await untilReady(...services)
    expect((await createPlant(services[0].url, 1n, 'Monstera')).response?.status).toBe(200)
  })

  it('is a client certificate, and the authority of the brokers', async () => {
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => join(kafka.dir, `rotated.${name}`)) as [
      string,
      string,
      string,
    ]
    const use = (authority: string, certified: Certified) => {
      copyFileSync(authority, ca)
      copyFileSync(certified.cert, cert)
      copyFileSync(certified.key, key)
    }
    const stranger = kafka.otherAuthority.issue('rotated', USER)
    use(kafka.otherAuthority.ca, stranger)
    const client = createKafka(
      kafka.tls.split(','),
      'test',
      quietLog,
      securityOf({
        ...{ KAFKA_BROKERS: kafka.tls, KAFKA_SECURITY_PROTOCOL: 'SSL' },
        ...{ KAFKA_SSL_CA_FILE: ca, KAFKA_SSL_CERT_FILE: cert, KAFKA_SSL_KEY_FILE: key },
      }),
    )
    const connect = () => withAdmin(client, (admin) => admin.describeCluster())
    const refused = () => connect().catch((error: unknown) => refusalOf(error, {}))
    expect(await refused()).toMatch(/correct KAFKA_SSL_CA_FILE/)
    use(kafka.authority.ca, stranger)
    expect(await refused()).toMatch(/correct KAFKA_SSL_CERT_FILE/)
    use(kafka.authority.ca, kafka.authority.issue('renewed', USER))
    expect((await connect()).brokers).toHaveLength(3)
  })
})
