import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import type { Right } from '@plant-store/shared/event-log/rights.ts'
import { inject } from 'vitest'
import { aclsOf, OPERATIONS } from '../../local/grant-rights.ts'
import { freePort } from '../../local/processes/port.ts'
import { createAuthority } from '../../local/stores/certificates.ts'
import { ensureKafka } from '../../local/stores/jars.ts'
import { answersKafka, defaultJavaArgs, newClusterId, startNode } from '../../local/stores/kafka.ts'
import { clusterSettings, withPasswords } from '../../local/stores/kafka-cluster.ts'
import { untilBrokersAreKnown } from './known-brokers.ts'
import { quietLog } from './quiet-log.ts'
import { SECRET_MARK } from './secrets.ts'
import { EXPECTED } from './token-endpoint.ts'

/** The password of every user, by PLAIN and at first by SCRAM. */
export const PASSWORD = `a-password-${SECRET_MARK}`
const MODULES = 'org.apache.kafka.common.security'
const HOST = 'localhost'
const STOP_GRACE_MS = 1_000
const RESTART_GRACE_MS = 60_000
const START_TIMEOUT_MS = 120_000

/** Kafka asks no other server. */
const ALLOWED_URLS = 'org.apache.kafka.sasl.oauthbearer.allowed.urls'
/** The listeners have the names of their protocols. */
const LISTENERS = ['PLAINTEXT', 'SASL_PLAINTEXT', 'SASL_SSL', 'SSL'] as const
type Listener = (typeof LISTENERS)[number]
const SASL_TLS = 'listener.name.sasl_ssl'

const EVERYTHING = (['topic', 'group'] as const).map(
  (resource): Right => ({ resource, name: '*', pattern: 'literal', operations: OPERATIONS }),
)

type Options = {
  /** One broker unless given: each more takes 3 s of a core to start. */
  nodeIds?: readonly number[]
  /** The users that may log in with PLAIN and SCRAM. */
  users: readonly string[]
  /** The URL of the keys by which Kafka verifies tokens; without it, no client may log in with OAUTHBEARER. */
  tokenKeysUrl?: string
  /** That of `npm start` unless given. */
  classpath?: string
  moreSettings?: Record<string, string>
}

/**
 * A Kafka with ACLs. Clients without a name, at `brokers`, may do everything; all other clients only what an ACL allows:
 * at `sasl` by PLAIN without encryption, at `saslTls` by PLAIN, SCRAM and OAUTHBEARER, at `tls` by a certificate.
 */
export async function startSecuredKafka({ users, tokenKeysUrl, moreSettings = {}, ...options }: Options) {
  const { java, classpath, nodeIds } = { ...(await ensureKafka()), nodeIds: [1], ...options }
  const dir = mkdtempSync(join(inject('testRun'), 'secured-kafka-'))
  const authority = createAuthority(dir)
  const places = await Promise.all(nodeIds.map(placeOf))
  const common = {
    ...clusterSettings(places),
    ...securitySettings(authority, dir, users, tokenKeysUrl),
    ...moreSettings,
  }
  const clusterId = newClusterId()
  const passwords = Object.fromEntries(users.map((user) => [user, PASSWORD]))
  const formatArgs = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => withPasswords(passwords, mechanism))
  function start({ id, controller, listeners }: (typeof places)[number]) {
    const name = `kafka-${id}`
    const advertised = LISTENERS.map((listener) => `${listener}://${HOST}:${listeners[listener]}`).join(',')
    return startNode({
      ...{ name, dir: join(dir, name), logFile: join(dir, `${name}.log`) },
      ...{ classpath, java, clusterId, formatArgs },
      settings: {
        ...common,
        'node.id': id,
        'broker.rack': `rack-${id}`,
        listeners: `${advertised},CONTROLLER://${HOST}:${controller}`,
        'advertised.listeners': advertised,
      },
      javaArgs: [...defaultJavaArgs, `-D${ALLOWED_URLS}=${tokenKeysUrl ?? ''}`],
      startTimeoutMs: START_TIMEOUT_MS,
      isReady: () => answersKafka(listeners.PLAINTEXT),
    })
  }
  const nodes = new Map(await Promise.all(places.map(async (place) => [place.id, await start(place)] as const)))
  const addresses = (listener: Listener) => places.map(({ listeners }) => `${HOST}:${listeners[listener]}`).join(',')
  const brokers = addresses('PLAINTEXT')
  await untilBrokersAreKnown(brokers)
  const admins = createKafka(brokers.split(','), 'test-admin', quietLog)
  const grant = (user: string, rights: readonly Right[]) =>
    withAdmin(admins, (admin) => admin.createAcls({ acl: rights.flatMap((right) => aclsOf(user, right)) }))

  return {
    dir,
    authority,
    brokers,
    sasl: addresses('SASL_PLAINTEXT'),
    saslTls: addresses('SASL_SSL'),
    tls: addresses('SSL'),

    /** The settings with which a user logs in by PLAIN, without TLS. */
    loginOf: (user: string) => ({
      KAFKA_BROKERS: addresses('SASL_PLAINTEXT'),
      KAFKA_SECURITY_PROTOCOL: 'SASL_PLAINTEXT',
      KAFKA_SASL_MECHANISM: 'PLAIN',
      KAFKA_SASL_USERNAME: user,
      KAFKA_SASL_PASSWORD: PASSWORD,
    }),

    /** Stops the process of a broker, which keeps its connections, or lets it continue. */
    signal(nodeId: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
      const node = nodes.get(nodeId)
      if (node !== undefined) process.kill(-node.pid, signal)
    },

    async stop(): Promise<void> {
      await Promise.all([...nodes.values()].map((node) => node.stop({ graceMs: STOP_GRACE_MS })))
    },

    /** Restarts each broker in order, the next one when `untilReady` resolves. */
    async restartOneByOne(untilReady: () => Promise<unknown>): Promise<void> {
      for (const place of places) {
        await nodes.get(place.id)?.stop({ graceMs: RESTART_GRACE_MS })
        nodes.set(place.id, await start(place))
        await untilReady()
      }
    },

    /** Changes the password of a user of SCRAM-SHA-256, by Kafka's own tool. */
    async setScramPassword(user: string, password: string): Promise<void> {
      const tool = ['-cp', classpath, 'org.apache.kafka.tools.ConfigCommand', '--bootstrap-server', brokers]
      const change = ['--alter', '--user', user, '--add-config', `SCRAM-SHA-256=[password=${password}]`]
      await promisify(execFile)(java, [...tool, ...change])
    },

    /** Lets a user do everything with all topics and groups. */
    allowAll: (user: string) => grant(user, EVERYTHING),

    grant,

    withdraw: (user: string, right: Right) =>
      withAdmin(admins, (admin) => admin.deleteAcls({ filters: aclsOf(user, right) })),
  }
}

async function placeOf(id: number) {
  const ports = await Promise.all(LISTENERS.map(async (listener) => [listener, await freePort()] as const))
  return { id, controller: await freePort(), listeners: Object.fromEntries(ports) as Record<Listener, number> }
}

function securitySettings(
  authority: ReturnType<typeof createAuthority>,
  dir: string,
  users: readonly string[],
  tokenKeysUrl: string | undefined,
) {
  const server = authority.issue('server', 'kafka', [HOST])
  const keystore = join(dir, 'server.pem')
  writeFileSync(keystore, readFileSync(server.key, 'utf8') + readFileSync(server.cert, 'utf8'))
  const plain = users.map((user) => `user_${user}="${PASSWORD}"`).join(' ')
  const jaas = {
    plain: `${MODULES}.plain.PlainLoginModule required ${plain};`,
    'scram-sha-256': `${MODULES}.scram.ScramLoginModule required;`,
    'scram-sha-512': `${MODULES}.scram.ScramLoginModule required;`,
    oauthbearer: `${MODULES}.oauthbearer.OAuthBearerLoginModule required;`,
  }
  return {
    'listener.security.protocol.map': [...LISTENERS.map((name) => `${name}:${name}`), 'CONTROLLER:PLAINTEXT'].join(','),
    'listener.name.sasl_plaintext.sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.sasl_plaintext.plain.sasl.jaas.config': jaas.plain,
    [`${SASL_TLS}.sasl.enabled.mechanisms`]: Object.keys(jaas).join(',').toUpperCase(),
    ...Object.fromEntries(Object.entries(jaas).map(([name, login]) => [`${SASL_TLS}.${name}.sasl.jaas.config`, login])),
    'listener.name.ssl.ssl.client.auth': 'required',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keystore,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': authority.ca,
    'ssl.principal.mapping.rules': 'RULE:^CN=([^,]+).*$/$1/',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
    ...(tokenKeysUrl !== undefined && {
      [`${SASL_TLS}.sasl.oauthbearer.jwks.endpoint.url`]: tokenKeysUrl,
      [`${SASL_TLS}.sasl.oauthbearer.expected.issuer`]: EXPECTED.issuer,
      [`${SASL_TLS}.sasl.oauthbearer.expected.audience`]: EXPECTED.audience,
      [`${SASL_TLS}.oauthbearer.sasl.server.callback.handler.class`]: `${MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler`,
    }),
  }
}
