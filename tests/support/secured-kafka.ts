import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import type { Right } from '@plant-store/shared/event-log/rights.ts'
import { inject } from 'vitest'
import { aclsOf, OPERATIONS } from '../../local/acls.ts'
import { freePort } from '../../local/processes/port.mjs'
import { createAuthority } from '../../local/stores/certificates.mjs'
import { ensureJars } from '../../local/stores/jars.mjs'
import { startKafka } from '../../local/stores/kafka.mjs'
import { quietLog } from './quiet-log.ts'
import { registerProcess } from './test-run.ts'

/** The password of every user that logs in with PLAIN. */
export const PASSWORD = 'a-password-for-tests'
const MODULES = 'org.apache.kafka.common.security'
const HOST = 'localhost'

export type SecuredKafkaOptions = {
  /** Those who may log in with PLAIN. */
  users: readonly string[]
  moreSettings?: Record<string, string>
}

/**
 * A Kafka with ACLs. Whoever comes without a name, at `brokers`, may do everything; all others only what an ACL allows:
 * at `sasl` by PLAIN without encryption, at `saslTls` by PLAIN, SCRAM and OAUTHBEARER, at `tls` by a certificate.
 */
export async function startSecuredKafka({ users, moreSettings = {} }: SecuredKafkaOptions) {
  const { kafkaClasspath: classpath, java } = await ensureJars({ redis: false })
  const dir = mkdtempSync(join(inject('testRun'), 'secured-kafka-'))
  const authority = createAuthority(dir)
  const otherAuthority = createAuthority(dir, 'other')
  const server = authority.issue('server', 'kafka', [HOST])
  const keystore = join(dir, 'server.pem')
  writeFileSync(keystore, readFileSync(server.key, 'utf8') + readFileSync(server.cert, 'utf8'))
  const [sasl, saslTls, tls] = [await freePort(), await freePort(), await freePort()]
  const plain = users.map((user) => `user_${user}="${PASSWORD}"`).join(' ')
  const jaas = {
    plain: `${MODULES}.plain.PlainLoginModule required ${plain};`,
    'scram-sha-256': `${MODULES}.scram.ScramLoginModule required;`,
    'scram-sha-512': `${MODULES}.scram.ScramLoginModule required;`,
    oauthbearer: `${MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="kafka";`,
  }
  const kafka = await startKafka({
    ...{ dir, classpath, java, logFile: join(dir, 'kafka.log') },
    moreListeners: [`SASL_PLAINTEXT://127.0.0.1:${sasl}`, `SASL_SSL://${HOST}:${saslTls}`, `SSL://${HOST}:${tls}`],
    moreSettings: {
      'listener.name.sasl_plaintext.sasl.enabled.mechanisms': 'PLAIN',
      'listener.name.sasl_plaintext.plain.sasl.jaas.config': jaas.plain,
      'listener.name.sasl_ssl.sasl.enabled.mechanisms': Object.keys(jaas).join(',').toUpperCase(),
      ...Object.fromEntries(
        Object.entries(jaas).map(([name, login]) => [`listener.name.sasl_ssl.${name}.sasl.jaas.config`, login]),
      ),
      'listener.name.ssl.ssl.client.auth': 'required',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': keystore,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': authority.ca,
      'ssl.principal.mapping.rules': 'RULE:^CN=([^,]+).*$/$1/',
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
      ...moreSettings,
    },
    onSpawn: (running) => registerProcess(inject('testRun'), running),
  })
  const admins = createKafka([kafka.brokers], 'test-admin', quietLog)

  /** Runs one of Kafka's own tools. */
  const configure = (...args: string[]) =>
    promisify(execFile)(java, [
      '-cp',
      classpath,
      'kafka.admin.ConfigCommand',
      '--bootstrap-server',
      kafka.brokers,
      ...args,
    ])

  return {
    ...kafka,
    dir,
    authority,
    otherAuthority,
    sasl: `127.0.0.1:${sasl}`,
    saslTls: `${HOST}:${saslTls}`,
    tls: `${HOST}:${tls}`,

    async setScramPassword(user: string, password: string): Promise<void> {
      // The tool refuses both in one call.
      for (const mechanism of ['SCRAM-SHA-256', 'SCRAM-SHA-512']) {
        const credential = `${mechanism}=[password=${password}]`
        await configure('--alter', '--entity-type', 'users', '--entity-name', user, '--add-config', credential)
      }
    },

    /** Lets a user do everything with all topics and groups. */
    allowAll: (user: string) =>
      withAdmin(admins, (admin) =>
        admin.createAcls({
          acl: (['topic', 'group'] as const).flatMap((resource) =>
            aclsOf(user, { resource, name: '*', pattern: 'literal', operations: OPERATIONS }),
          ),
        }),
      ),

    grant: (user: string, rights: readonly Right[]) =>
      withAdmin(admins, (admin) => admin.createAcls({ acl: rights.flatMap((right) => aclsOf(user, right)) })),

    withdraw: (user: string, right: Right) =>
      withAdmin(admins, (admin) => admin.deleteAcls({ filters: aclsOf(user, right) })),
  }
}
