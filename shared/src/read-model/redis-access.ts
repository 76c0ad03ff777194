import { faultsOf, PreconditionError } from '../runtime/failures.ts'
import { type HostPort, hostPortOf } from '../runtime/host-port.ts'
import { connectionFiles, type ReadFile, readSecret, readTlsFiles } from '../runtime/setting-files.ts'
import { REDIS_PLACES, type RedisSettings } from './redis-settings.ts'

type Name = keyof RedisSettings

/** Where Redis is: one server, a master that sentinels know by name, or a cluster that these nodes know. */
export type RedisPlace =
  | { is: 'server'; url: string }
  | { is: 'sentinels'; sentinels: HostPort[]; name: string }
  | { is: 'cluster'; nodes: HostPort[] }

export type Secrets = ReturnType<typeof readSecrets>

export type RedisAccess = ReturnType<typeof redisAccessOf>

const SENTINEL_SETTINGS = [
  'REDIS_SENTINEL_NAME',
  'REDIS_SENTINEL_USERNAME',
  'REDIS_SENTINEL_PASSWORD',
  'REDIS_SENTINEL_PASSWORD_FILE',
] as const
const TLS_FILES = ['REDIS_CA_FILE', 'REDIS_CERT_FILE', 'REDIS_KEY_FILE'] as const

/**
 * Reads the access to Redis from the settings. Throws a PreconditionError that names every setting that is missing,
 * contradicts another one, or names a file that cannot be used.
 */
export function redisAccessOf(settings: RedisSettings) {
  const faults = [
    ...placeFaults(settings),
    ...loginFaults(settings),
    ...passwordFaults(settings, 'REDIS'),
    ...passwordFaults(settings, 'REDIS_SENTINEL'),
    ...tlsFaults(settings),
  ]
  if (faults.length > 0) throw new PreconditionError(`settings: ${faults.join('; ')}`)
  return {
    ...placeOf(settings),
    /** The settings to correct when Redis or a sentinel refuses user or password. */
    loginSettings: {
      redis: loginSettingsOf(settings, 'REDIS'),
      sentinel: loginSettingsOf(settings, 'REDIS_SENTINEL'),
    },
    secrets: connectionFiles('Redis configuration', settings, 'REDIS', (readFile) => readSecrets(settings, readFile)),
  }
}

/** The address has no secrets. */
function placeOf(settings: RedisSettings): { place: RedisPlace; address: string } {
  const { REDIS_URL, REDIS_SENTINELS, REDIS_SENTINEL_NAME: name = '', REDIS_CLUSTER_NODES: nodes } = settings
  if (nodes !== undefined) return { place: { is: 'cluster', nodes: hostsOf(nodes) }, address: `cluster ${nodes}` }
  if (REDIS_SENTINELS !== undefined) {
    const place = { is: 'sentinels', sentinels: hostsOf(REDIS_SENTINELS), name } as const
    return { place, address: `${name} of the sentinels ${REDIS_SENTINELS}` }
  }
  const { protocol, host, pathname } = urlOf(settings)
  return { place: { is: 'server', url: REDIS_URL ?? '' }, address: `${protocol}//${host}${pathname}` }
}

const hostsOf = (addresses: string): HostPort[] => addresses.split(',').map(hostPortOf)
const urlOf = ({ REDIS_URL = '' }: RedisSettings) => new URL(REDIS_URL)

function usesTls(settings: RedisSettings): boolean {
  if (settings.REDIS_URL !== undefined) return settings.REDIS_URL.startsWith('rediss:')
  return settings.REDIS_TLS === 'on'
}

function loginSettingsOf(settings: RedisSettings, prefix: 'REDIS' | 'REDIS_SENTINEL'): string {
  const inUrl = prefix === 'REDIS' && settings.REDIS_URL !== undefined
  const password = settings[`${prefix}_PASSWORD_FILE`] === undefined ? `${prefix}_PASSWORD` : `${prefix}_PASSWORD_FILE`
  if (inUrl && urlOf(settings).password !== '') return 'user and password in REDIS_URL'
  const user = inUrl && urlOf(settings).username !== '' ? 'the user in REDIS_URL' : `${prefix}_USERNAME`
  return `${user} or ${password}`
}

/** The credentials of a connection. A server that is given as a URL may have user and password there. */
function readSecrets(settings: RedisSettings, read?: ReadFile) {
  const { REDIS_USERNAME: username, REDIS_SENTINEL_USERNAME: sentinelUsername } = settings
  const password = readSecret(settings, 'REDIS_PASSWORD', read)
  const sentinelPassword = readSecret(settings, 'REDIS_SENTINEL_PASSWORD', read)
  const tls = usesTls(settings) ? readTlsFiles(settings, 'REDIS', read) : undefined
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls !== undefined && { tls, sentinelTLS: tls }),
  }
}

const given = (settings: RedisSettings, names: readonly Name[]) => names.filter((name) => settings[name] !== undefined)

function placeFaults(settings: RedisSettings): string[] {
  const places = given(settings, REDIS_PLACES)
  if (places.length === 0) {
    return [
      'REDIS_URL is missing: set it to redis://host:port or rediss://user:password@host:port, or set REDIS_SENTINELS or ' +
        'REDIS_CLUSTER_NODES',
    ]
  }
  if (places.length > 1) return [`${places.join(' and ')} contradict each other: set one of them`]
  if (settings.REDIS_SENTINELS === undefined) {
    return given(settings, SENTINEL_SETTINGS).map((name) => `${name} needs REDIS_SENTINELS`)
  }
  if (settings.REDIS_SENTINEL_NAME !== undefined) return []
  return ['REDIS_SENTINEL_NAME is missing: set it to the name of the master at the sentinels']
}

/** User, password and TLS of a URL are in the URL, unless the URL leaves them out. */
function loginFaults(settings: RedisSettings): string[] {
  if (settings.REDIS_URL === undefined) return []
  if (!isAddress(settings.REDIS_URL))
    return ['REDIS_URL is not redis://user:password@host:port/database: escape special characters as %XX']
  const { username, password } = urlOf(settings)
  const twice = [
    ...(username === '' ? [] : given(settings, ['REDIS_USERNAME'])),
    ...(password === '' ? [] : given(settings, ['REDIS_PASSWORD', 'REDIS_PASSWORD_FILE'])),
  ]
  const faults = twice.map((name) => `REDIS_URL and ${name} contradict each other: leave it out of one of them`)
  if (settings.REDIS_TLS === undefined) return faults
  return [...faults, 'REDIS_TLS is for REDIS_SENTINELS and REDIS_CLUSTER_NODES: write rediss:// in REDIS_URL instead']
}

/** What follows the port would be options of ioredis, or may be a part of the password, which messages must not show. */
function isAddress(url: string): boolean {
  try {
    // ioredis decodes user and password.
    return /^\w+:\/\/[^/?#]+(?:\/\d*)?$/.test(decodeURI(url)) && URL.canParse(url)
  } catch {
    return false
  }
}

function passwordFaults(settings: RedisSettings, prefix: 'REDIS' | 'REDIS_SENTINEL'): string[] {
  const [user, password, file] = [`${prefix}_USERNAME`, `${prefix}_PASSWORD`, `${prefix}_PASSWORD_FILE`] as const
  const passwords = given(settings, [password, file])
  if (passwords.length > 1) return [`${password} and ${file} contradict each other: set one of them`]
  const needsPassword = settings[user] !== undefined && passwords.length === 0
  if (needsPassword) return [`${user} needs a password: set ${password} or ${file}`]
  return faultsOf(() => readSecret(settings, password))
}

function tlsFaults(settings: RedisSettings): string[] {
  const files = given(settings, TLS_FILES)
  if (!usesTls(settings)) {
    const fix = settings.REDIS_URL === undefined ? 'set REDIS_TLS to on' : 'write rediss:// in REDIS_URL'
    return files.map((name) => `${name} needs TLS: ${fix}`)
  }
  return faultsOf(() => readTlsFiles(settings, 'REDIS'))
}
