import { messageOf } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import type { RedisAccess } from './redis-access.ts'

type Place = Pick<RedisAccess, 'address' | 'loginSettings'>

/** A refused call is reported this long: what is called periodically, or retried, is refused again within it. */
const REFUSAL_COUNTS_MS = 10_000
const RIGHTS = 'docs/how-to/connect-secured-stores.md lists the rights'

/** The current problems of Redis with their reasons, for `/readyz` and the log. */
export function createRedisProblems(place: Place, log: Log) {
  let connection = ''
  let refusal = { text: '', at: Number.NEGATIVE_INFINITY }

  /** An error of the client or of Redis with a text for people, and with itself as the cause; any other unchanged. */
  function explained(error: unknown): unknown {
    // The error of a cluster does not say why its last node could not be used.
    const { lastNodeError = error } = (error ?? {}) as { lastNodeError?: unknown }
    const text = redisProblemOf(lastNodeError, place)
    return text === undefined ? lastNodeError : new Error(text, { cause: lastNodeError })
  }

  return {
    /** A connection was lost or could not be opened; it is tried again. */
    connectionFailed(error: Error): void {
      const err = explained(error)
      const text = messageOf(err)
      if (text !== connection) log.warn({ err }, `redis: ${text}; retrying`)
      connection = text
    },

    connected(): void {
      if (connection !== '') log.info('redis: reachable again')
      connection = ''
    },

    /** A call got an error as reply. Only those that a person has to put right are reported. */
    callFailed(error: Error): void {
      const text = refusalOf(error.message, place)
      if (text === undefined) return
      if (text !== refusal.text) log.warn({ err: explained(error) }, `redis: ${text}`)
      refusal = { text, at: performance.now() }
    },

    /** The reason why connections fail; '' when they do not. */
    connection: (): string => connection,

    /** The refusal of the last calls; empty when there was none. */
    refusals(): string[] {
      return performance.now() - refusal.at < REFUSAL_COUNTS_MS ? [`redis: ${refusal.text}`] : []
    },

    explained,
  }
}

/** The methods, which reject with explained errors; those that return neither promises nor an iterable stay as they are. */
export function withExplainedErrors<T extends object>(methods: T, explained: (error: unknown) => unknown): T {
  async function* iterate(items: AsyncIterable<unknown>) {
    try {
      yield* items
    } catch (error) {
      throw explained(error)
    }
  }
  const explain = (returned: unknown): unknown => {
    if (Array.isArray(returned)) return returned.map(explain)
    if (returned instanceof Promise) {
      return returned.catch((error: unknown) => {
        throw explained(error)
      })
    }
    const isIterable = typeof returned === 'object' && returned !== null && Symbol.asyncIterator in returned
    return isIterable ? iterate(returned as AsyncIterable<unknown>) : returned
  }
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      typeof method === 'function' ? (...args: unknown[]) => explain(method(...args)) : method,
    ]),
  ) as T
}

/** The reason and remedy of an error of Redis or its client, without its text; undefined for any other error. */
export function redisProblemOf(error: unknown, place: Place): string | undefined {
  const message = messageOf(error)
  const refusal = refusalOf(message, place)
  if (refusal !== undefined) return refusal
  const { name, code = '', cause } = error as NodeJS.ErrnoException
  const at = `Redis at ${place.address}`
  const reply = PARTLY_MOVED.test(message) ? 'ASK' : REPLIES.exec(message)?.[1]
  if (reply !== undefined) return `${at} ${FIXES[reply as keyof typeof FIXES]}`
  if (name === 'ReplyError') return `${at} refuses a call (${/^[A-Z]+/.exec(message)?.[0] ?? 'ERR'}): see its log`
  if (TIMEOUT.test(message) || (cause as Error | undefined)?.name === EXPIRED)
    return `${at} does not respond (timed out): check that it runs and is not overloaded`
  return NO_CONNECTION.test(message) || NO_CONNECTION.test(code) || NO_CONNECTION.test(name)
    ? `${at} is not reachable: check that it runs and that address and TLS are right`
    : undefined
}

/** The fix for an error of Redis, a sentinel or TLS that a person has to put right; undefined for any other error. */
function refusalOf(message: string, { loginSettings }: Place): string | undefined {
  const isOfSentinel = /sentinel/i.test(message)
  const server = isOfSentinel ? 'a sentinel' : 'Redis'
  const [, text] = REFUSALS.find(([pattern]) => pattern.test(message)) ?? []
  return text?.(server, isOfSentinel ? loginSettings.sentinel : loginSettings.redis, message)
}

/** Replies that need no setting to be corrected. Redis 6.2 wraps those within a script in another error. */
const FIXES = {
  OOM: 'is full (OOM): add memory',
  MISCONF: 'cannot save (MISCONF): free space on its disk',
  MOVED: 'is a part of a cluster (MOVED): set REDIS_CLUSTER_NODES instead of REDIS_URL',
  NOREPLICAS: 'accepts no writes without its replicas (NOREPLICAS): restore them',
  READONLY: 'is a replica now (READONLY): if it lasts, check where the address leads',
  LOADING: 'is loading its data (LOADING): wait',
  MASTERDOWN: 'has lost its master (MASTERDOWN): restore the master',
  CLUSTERDOWN: 'lacks a part of its cluster (CLUSTERDOWN): restore it',
  WRONGTYPE: 'has a key of another type among those of the topic (WRONGTYPE): plantctl status names it',
  BUSY: 'is busy with a script of another program (BUSY): end it with SCRIPT KILL',
  ASK: 'is moving the keys of a slot (ASK): wait',
  TRYAGAIN: 'is moving the keys of a slot (TRYAGAIN): wait',
}
/** Redis returns no ASK when a script finds the first of its keys, but not all. */
const PARTLY_MOVED = /access a non local key/
const REPLIES = new RegExp(`\\b(${Object.keys(FIXES).join('|')})\\b`)
/** The name of the cause of Node's error when an event did not happen in time. */
const EXPIRED = 'TimeoutError'
const TIMEOUT = /timed out|Socket timeout|\bETIMEDOUT\b/
const NO_CONNECTION =
  /^(?:E[A-Z_]+|MaxRetriesPerRequestError|ClusterAllFailedError)$|\bE(?:CONN|HOST|NET|PIPE|NOTFOUND|AI_)|Connection is closed|connection close|Cluster is ended|isn't writeable|reachable/

/** Redis, its versions and OpenSSL have no other codes than these words. */
const REFUSALS: readonly [RegExp, (server: string, settings: string, message: string) => string][] = [
  [/\bWRONGPASS\b|invalid password/, (server, settings) => `${server} refuses the login: correct ${settings}`],
  [
    /\bDB index\b|SELECT is not allowed/,
    (server) => `${server} does not have this database: correct the number in REDIS_URL`,
  ],
  [/No such master/, () => 'the sentinels do not know REDIS_SENTINEL_NAME: correct it'],
  [/unknown command .sentinel/, () => 'REDIS_SENTINELS names a server that is no sentinel: set REDIS_URL instead'],
  [
    /unknown (?:redis )?command/i,
    (server, _, message) =>
      `${server} has no command ${/unknown command .(\w+)/.exec(message)?.[1] ?? 'of a script'}: undo its rename-command; ${RIGHTS}`,
  ],
  [/cluster support disabled/, () => 'REDIS_CLUSTER_NODES names a server without a cluster: set REDIS_URL instead'],
  [
    /no node of the Redis Cluster is ready/,
    () =>
      'the nodes of the Redis Cluster cannot be used: check their state (CLUSTER INFO), addresses (CLUSTER NODES) and TLS',
  ],
  [/Unknown RESP type/, () => 'what responds there is not Redis: correct the address'],
  [/\bDENIED\b/, (server) => `${server} is in protected mode (DENIED): give its users passwords, or turn the mode off`],
  [/max number of clients/, (server) => `${server} has no room for more clients: raise its maxclients`],
  [/\bNOAUTH\b/, (server, settings) => `${server} requires a login: set ${settings}`],
  [
    /\bNOPERM\b|ACL failure in script|user executing the script can't/,
    (server, _, message) => `${server} refuses a call: give the user ${rightIn(message)}; ${RIGHTS} (NOPERM)`,
  ],
  [
    /certificate (?:has expired|is not yet valid)/,
    (server) =>
      `the certificate of ${server} has expired or is not valid yet: renew it, or correct the clock of this host`,
  ],
  [
    /does not match certificate's altnames/,
    (server) => `the certificate of ${server} is for another address: connect to a name that it has`,
  ],
  [
    /alert (?:(?:\w+ )?certificate|handshake failure|unknown ca)/,
    (server) => `${server} requires a certificate that it trusts: set REDIS_CERT_FILE and REDIS_KEY_FILE`,
  ],
  [/certificate/, (server) => `the certificate of ${server} is not trusted: REDIS_CA_FILE must name its authority`],
  [/wrong version number|packet length too long/, (server) => `${server} does not use TLS at this port`],
]

/** Redis names the command, except in a script before version 7; and never the key. */
function rightIn(message: string): string {
  const [, command] = /'([\w|]+)' command/.exec(message) ?? []
  if (command !== undefined) return `+${command}`
  return /\bkeys?\b/.test(message) ? 'access to the keys of the topic' : 'all rights of a script'
}
