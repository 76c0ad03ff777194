import { isIP } from 'node:net'
import { connect, createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import type { AuthenticationProviderArgs, ISocketFactory, Mechanism } from 'kafkajs'
import { kafkajsModule } from '../kafka-client/kafkajs.ts'
import { faultsOf, PreconditionError } from '../runtime/failures.ts'
import type { ReadFiles } from '../runtime/reloaded.ts'
import { connectionFiles, readSecret, readTlsFiles, type TlsFiles } from '../runtime/setting-files.ts'
import { connectionLost, Refused } from './broker-errors.ts'
import type { Security } from './connection.ts'
import { KAFKA_SETTINGS, type KafkaSettings } from './kafka-settings.ts'
import { createTokenSource } from './oauth-token.ts'

type Name = keyof KafkaSettings
type Mechanisms = NonNullable<KafkaSettings['KAFKA_SASL_MECHANISM']>
type Authenticate = (args: AuthenticationProviderArgs) => Promise<void>

const KEEP_ALIVE_MS = 60_000
const AUTHENTICATORS = 'src/broker/saslAuthenticator'
const BY_PASSWORD = { PLAIN: 'plain', 'SCRAM-SHA-256': 'scram256', 'SCRAM-SHA-512': 'scram512' }

/** The prefix of the settings that name files for TLS. */
const TLS_FILES = 'KAFKA_SSL'
const named = (start: RegExp) => (Object.keys(KAFKA_SETTINGS) as Name[]).filter((name) => start.test(name))
const TLS_SETTINGS = named(/^KAFKA_SSL/)
const SASL_SETTINGS = named(/^KAFKA_SASL/)
const PASSWORD_SETTINGS = named(/^KAFKA_SASL_(USERNAME|PASSWORD)/)
const OAUTH_SETTINGS = named(/^KAFKA_SASL_OAUTH/)

/**
 * Reads the security of connections from the settings. The files are read again before each connection, so that
 * secrets change without a restart. Throws a PreconditionError that names every setting that is missing, contradicts
 * another one or names a file that cannot be used.
 */
export function securityOf(settings: KafkaSettings): Security {
  const faults = securityFaults(settings)
  if (faults.length > 0) throw new PreconditionError(`settings: ${faults.join('; ')}`)
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_CLIENT_RACK: rackId } = settings
  return {
    rackId,
    ...(usesTls(settings) && { ssl: true, socketFactory: tlsSockets(settings) }),
    ...(mechanism !== undefined && { sasl: loginBy(mechanism, settings) }),
  }
}

const usesTls = ({ KAFKA_SECURITY_PROTOCOL: protocol }: KafkaSettings) => protocol.endsWith('SSL')
const usesSasl = ({ KAFKA_SECURITY_PROTOCOL: protocol }: KafkaSettings) => protocol.startsWith('SASL')

function securityFaults(settings: KafkaSettings): string[] {
  const { KAFKA_SECURITY_PROTOCOL: protocol, KAFKA_SASL_MECHANISM: mechanism } = settings
  const given = (names: readonly Name[], fault: string) =>
    names.filter((name) => settings[name] !== undefined).map((name) => `${name} ${fault}`)
  const needs = (protocols: string) => `needs KAFKA_SECURITY_PROTOCOL ${protocols} (it is ${protocol})`
  const ofTls = usesTls(settings)
    ? faultsOf(() => readTlsFiles(settings, TLS_FILES))
    : given(TLS_SETTINGS, needs('SSL or SASL_SSL'))
  if (!usesSasl(settings)) return [...ofTls, ...given(SASL_SETTINGS, needs('SASL_SSL or SASL_PLAINTEXT'))]
  if (mechanism === undefined)
    return [...ofTls, `KAFKA_SASL_MECHANISM is missing: KAFKA_SECURITY_PROTOCOL is ${protocol}`]
  const isOauth = mechanism === 'OAUTHBEARER'
  const required: Name[] = isOauth
    ? ['KAFKA_SASL_OAUTH_TOKEN_URL', 'KAFKA_SASL_OAUTH_CLIENT_ID']
    : ['KAFKA_SASL_USERNAME']
  return [
    ...ofTls,
    ...required
      .filter((name) => settings[name] === undefined)
      .map((name) => `${name} is missing: KAFKA_SASL_MECHANISM is ${mechanism}`),
    ...oneSecretFaults(settings, isOauth ? 'KAFKA_SASL_OAUTH_CLIENT_SECRET' : 'KAFKA_SASL_PASSWORD'),
    ...given(
      isOauth ? PASSWORD_SETTINGS : OAUTH_SETTINGS,
      `is not for KAFKA_SASL_MECHANISM ${mechanism}: remove one of them`,
    ),
  ]
}

type SecretName = 'KAFKA_SASL_PASSWORD' | 'KAFKA_SASL_OAUTH_CLIENT_SECRET'

function oneSecretFaults(settings: KafkaSettings, name: SecretName): string[] {
  const given = [settings[name], settings[`${name}_FILE`]].filter((value) => value !== undefined)
  if (given.length !== 1) return [`set exactly one of ${name} and ${name}_FILE`]
  return faultsOf(() => readSecret(settings, name))
}

/** As kafkajs's own sockets, but with the files as they were read last, and always with a check of the host name. */
function tlsSockets(settings: KafkaSettings): ISocketFactory & Pick<ReadFiles<TlsFiles>, 'renew'> {
  const { current, renew } = connectionFiles('KAFKA_SSL configuration', settings, TLS_FILES, (readFile) =>
    readTlsFiles(settings, TLS_FILES, readFile),
  )
  const contextNow = secureContexts(current)
  const open: ISocketFactory = ({ host, port, onConnect }) => {
    const secureContext = contextNow()
    const servername = isIP(host) ? '' : host
    const socket = connect({ host, port, servername, secureContext, rejectUnauthorized: true }, onConnect)
    return socket.setKeepAlive(true, KEEP_ALIVE_MS)
  }
  return Object.assign(open, { renew })
}

/** Makes a new context only when a file has changed: one with the authorities of the system takes 60 ms of CPU. */
function secureContexts(current: () => TlsFiles): () => SecureContext {
  let used: { files: TlsFiles; context: SecureContext } | undefined
  return () => {
    const files = current()
    if (used === undefined || !isDeepStrictEqual(files, used.files)) {
      const ca = files.ca ?? [...getCACertificates('default'), ...getCACertificates('system')]
      used = { files, context: createSecureContext({ ...files, ca }) }
    }
    return used.context
  }
}

function loginBy(mechanism: Mechanisms, settings: KafkaSettings): Mechanism {
  const login = mechanism === 'OAUTHBEARER' ? loginByToken(settings) : loginByPassword(mechanism, settings)
  return { mechanism, authenticationProvider: (args) => ({ authenticate: () => login(args) }) }
}

function secretOf(settings: KafkaSettings, name: SecretName) {
  const { current, renew } = connectionFiles(name, settings, name, (readFile) => readSecret(settings, name, readFile))
  return { current, renew: ({ logger }: AuthenticationProviderArgs) => renew((reason) => logger.error(reason)) }
}

function loginByPassword(mechanism: keyof typeof BY_PASSWORD, settings: KafkaSettings): Authenticate {
  const provide = kafkajsModule(`${AUTHENTICATORS}/${BY_PASSWORD[mechanism]}.js`)
  const { KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: given } = settings
  const setting = given === undefined ? 'KAFKA_SASL_PASSWORD_FILE' : 'KAFKA_SASL_PASSWORD'
  const secret = secretOf(settings, 'KAFKA_SASL_PASSWORD')
  return async (args) => {
    const password = await secret.renew(args)
    try {
      await provide({ username, password })(args).authenticate()
    } catch (error) {
      throw refused(error, `KAFKA_SASL_USERNAME or ${setting}`)
    }
  }
}

function loginByToken(settings: KafkaSettings): Authenticate {
  const provide = kafkajsModule(`${AUTHENTICATORS}/oauthBearer.js`)
  const secret = secretOf(settings, 'KAFKA_SASL_OAUTH_CLIENT_SECRET')
  const tokens = createTokenSource({
    tokenUrl: settings.KAFKA_SASL_OAUTH_TOKEN_URL ?? '',
    clientId: settings.KAFKA_SASL_OAUTH_CLIENT_ID ?? '',
    clientSecret: () => secret.current() ?? '',
    scope: settings.KAFKA_SASL_OAUTH_SCOPE,
  })
  return async (args) => {
    await secret.renew(args)
    const value = await tokens.current()
    try {
      await provide({ oauthBearerProvider: async () => ({ value }) })(args).authenticate()
    } catch (error) {
      tokens.forget()
      throw refused(error, 'KAFKA_SASL_OAUTH_CLIENT_ID or KAFKA_SASL_OAUTH_SCOPE, or what the broker accepts')
    }
  }
}

/** A lost connection is no refusal. */
function refused(error: unknown, toCorrect: string): unknown {
  return connectionLost((error as Error).message) ? error : new Refused(`Kafka refuses the login: correct ${toCorrect}`)
}
