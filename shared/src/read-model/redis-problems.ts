import { messageOf } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import type { RedisAccess } from './redis-access.ts'

type LoginSettings = RedisAccess['loginSettings']

/** A refused call is reported this long: what is called periodically, or retried, is refused again within it. */
const REFUSAL_COUNTS_MS = 10_000
const RIGHTS = 'docs/how-to/connect-secured-stores.md lists the rights'

/** What cannot be done in Redis at the moment and why, for `/readyz` and the log. */
export function createRedisProblems(loginSettings: LoginSettings, log: Log) {
  let connection = ''
  let refusal = { text: '', at: Number.NEGATIVE_INFINITY }
  const explain = (error: unknown) => explainRedisError(messageOf(error), loginSettings)

  return {
    /** A connection was lost or could not be opened; it is tried again. */
    connectionFailed(error: Error): void {
      const text = explain(error) ?? error.message
      if (text !== connection) log.warn({ err: error }, `redis: not reachable, retrying: ${text}`)
      connection = text
    },

    connected(): void {
      if (connection !== '') log.info('redis: reachable again')
      connection = ''
    },

    /** A call got an error as reply. Only those that a person has to put right are reported. */
    callFailed(error: Error): void {
      const text = explain(error)
      if (text === undefined) return
      if (text !== refusal.text) log.warn({ err: error }, `redis: ${text}`)
      refusal = { text, at: performance.now() }
    },

    /** Why connections fail; '' when they do not. */
    connection: (): string => connection,

    /** The refusal of the last calls; empty when there was none. */
    refusals(): string[] {
      return performance.now() - refusal.at < REFUSAL_COUNTS_MS ? [`redis: ${refusal.text}`] : []
    },

    /** The error, with the fix if there is one. */
    explained(error: unknown): Error {
      const text = explain(error)
      return text === undefined ? (error as Error) : new Error(text, { cause: error })
    },
  }
}

/** The fix for an error of Redis, a sentinel or TLS that a person has to put right; undefined for any other error. */
export function explainRedisError(message: string, loginSettings: LoginSettings): string | undefined {
  const [server, settings] = /sentinel/i.test(message)
    ? (['a sentinel', loginSettings.sentinel] as const)
    : (['Redis', loginSettings.redis] as const)
  const problem = problemIn(message)
  if (problem === 'login') return `${server} refuses the login: correct ${settings} (${message})`
  if (problem === 'noLogin') return `${server} requires a login: set ${settings} (${message})`
  if (problem === 'right') return `${server} refuses a call: give the user ${rightIn(message)}; ${RIGHTS} (${message})`
  if (problem === 'authority') {
    return `the certificate of ${server} is not trusted: REDIS_CA_FILE must name its authority (${message})`
  }
  if (problem === 'hostName') {
    return `the certificate of ${server} is for another address: connect to a name that it has (${message})`
  }
  if (problem === 'noCertificate') {
    return `${server} requires a certificate that it trusts: set REDIS_CERT_FILE and REDIS_KEY_FILE (${message})`
  }
  return problem === 'noTls' ? `${server} does not use TLS at this port (${message})` : undefined
}

/** Redis, its versions and OpenSSL have no other codes than these words. */
const PROBLEMS = {
  login: /\bWRONGPASS\b|invalid password/,
  noLogin: /\bNOAUTH\b/,
  right: /\bNOPERM\b|ACL failure in script|user executing the script can't/,
  authority: /unable to (?:verify|get)|self[- ]signed certificate|certificate has expired/,
  hostName: /does not match certificate's altnames/,
  noCertificate: /alert (?:certificate required|handshake failure|unknown ca|bad certificate)/,
  noTls: /wrong version number|packet length too long/,
}

function problemIn(message: string): keyof typeof PROBLEMS | undefined {
  return (Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[]).find((problem) => PROBLEMS[problem].test(message))
}

/** Redis names the command, except in a script before version 7; and never the key. */
function rightIn(message: string): string {
  const [, command] = /'([\w|]+)' command/.exec(message) ?? []
  if (command !== undefined) return `+${command}`
  return /\bkeys?\b/.test(message) ? 'access to the keys of the topic' : 'all rights of a script'
}
