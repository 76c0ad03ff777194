import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type ClientContext, Cluster, Redis, type RedisOptions, type Result } from 'ioredis'
import type { Partition } from '../plant/position.ts'
import type { Log } from '../runtime/log.ts'
import { type RedisAccess, redisAccessOf, type Secrets } from './redis-access.ts'
import { createRedisProblems, redisProblemOf } from './redis-problems.ts'
import type { RedisSettings } from './redis-settings.ts'

type Texts<Context extends ClientContext> = Result<string[], Context>

declare module 'ioredis' {
  interface RedisCommander<Context> {
    plantsApply(pointer: string, ...args: (string | number | Buffer)[]): Texts<Context>
    plantsLookUpBuffer(pointer: string, ...ids: string[]): Result<(Buffer | null)[], Context>
    plantsListBuffer(pointer: string, from: number, count: number): Result<Buffer[], Context>
    plantsCheckpoint(pointer: string): Texts<Context>
    plantsBegin(pointer: string, name: string, fold: number, partitions: number): Texts<Context>
    plantsMark(pointer: string, generation: string, mark: string): Texts<Context>
    plantsState(pointer: string, generation: string): Texts<Context>
    plantsSpanBuffer(pointer: string, generation: string, from: number, count: number): Result<Buffer[], Context>
    plantsSwitch(pointer: string, name: string, mark: string, live: string, upTo: number, fold: number): Texts<Context>
    plantsReapply(pointer: string, ...args: (string | number | Buffer)[]): Texts<Context>
    plantsDrop(pointer: string, generation: string, abandon: string): Texts<Context>
  }
}

/** A connection to one server, or connections to the masters of a cluster. */
export type RedisClient = Redis | Cluster

type Problems = ReturnType<typeof createRedisProblems>

const CONNECT_TIMEOUT_MS = 3_000
const COMMAND_TIMEOUT_MS = 2_000
/** A connection without a reply for this long is closed: when a host disappears, nothing closes its connections. */
const SOCKET_TIMEOUT_MS = 5_000
/** Not anchored: Redis 6.2 wraps an error within a script in another error. */
const READ_ONLY = /\bREADONLY\b/
/** In place of the reply to the first command. */
const REFUSED_CONNECTION = /^-(DENIED|ERR max number of clients)/
const END_OF_CONNECTION = /\b(?:EPIPE|ECONNRESET)\b|connection (?:is )?close|isn't writeable/i
const RECONNECT_STEP_MS = 50
const RECONNECT_MAX_MS = 1_000

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
/** A script in this folder. Its only key is the live pointer of a partition. */
const script = (name: string) => ({ lua: read('meta.lua') + read(name), numberOfKeys: 1 })

const SCRIPTS = {
  plantsLookUp: script('look-up.lua'),
  plantsCheckpoint: script('checkpoint.lua'),
  plantsApply: script('apply.lua'),
  plantsList: script('list.lua'),
  plantsBegin: script('begin.lua'),
  plantsMark: script('mark.lua'),
  plantsState: script('state.lua'),
  plantsSpan: script('span.lua'),
  plantsSwitch: script('switch.lua'),
  plantsDrop: script('drop.lua'),
  plantsReapply: script('reapply.lua'),
}

/** The prefix of all keys of a partition. Its hash tag keeps them on one node of a cluster. */
export const keyPrefix = (topic: string, partition: Partition) => `{${topic}:${partition}}:`

/** The key that names the live generation of a partition. */
export const livePointer = (topic: string, partition: Partition) => `${keyPrefix(topic, partition)}live`

/** The time that a call waits for a Redis that is away, such as during a failover. */
export type Patience = { patienceMs?: number }

/**
 * A connection that reconnects automatically, with the files that the settings name as they are then. Calls reject at
 * once while Redis is unreachable; with `patienceMs`, those to a single server or behind sentinels wait so long for it,
 * and are sent again after a lost connection, so each call has to bear being executed twice. Throws a PreconditionError
 * for settings that are missing or contradict each other.
 */
export function connectRedis(settings: RedisSettings, log: Log, { patienceMs }: Patience = {}) {
  const access = redisAccessOf(settings)
  const problems = createRedisProblems(access, log)
  const use = (secrets: Secrets) => {
    for (const { options } of redis instanceof Cluster ? redis.nodes() : [redis]) Object.assign(options, secrets)
  }
  /** Uses the secrets as they were read last, and then those that are in the files now. */
  const renew = () => {
    use(access.secrets.current())
    void access.secrets.renew((reason) => log.warn(`redis: ${reason}`)).then(use)
  }
  const redis: RedisClient =
    access.place.is === 'cluster'
      ? openCluster(access, problems, renew)
      : openServer(access, problems, renew, patienceMs)
  /** Redis has said why it ends the connection, or why it cannot be used. */
  let hasReason = false
  const endConnection = () => {
    hasReason = true
    redis.disconnect(true)
  }
  redis.on('error', (error: Error & { command?: { name: string } }) => {
    // It follows from the end, or the reply of Redis was lost this time.
    if (hasReason && END_OF_CONNECTION.test(error.message)) return
    // The client ends the connection after such a reply.
    hasReason = error.name === 'ReplyError'
    problems.connectionFailed(error)
    // ioredis would continue with database 0.
    if (error.command?.name === 'select') endConnection()
  })
  redis.on('ready', () => {
    hasReason = false
    problems.connected()
  })
  reportSilentEnds(redis, endConnection)
  const isLoadingData = () => !hasReason && isLoading(redis)
  let isClosed = false
  // ioredis gives up when sentinels announce a failover while it connects to the old master.
  redis.on('end', () => {
    setTimeout(() => {
      if (!isClosed) redis.connect().catch(() => {})
    }, RECONNECT_STEP_MS)
  })
  return {
    redis,

    /** The address of Redis, without secrets. */
    address: access.address,

    isReady: (): boolean => redis.status === 'ready',

    /** The reasons why Redis cannot be used now, as text for people; empty when it can. */
    problems(): string[] {
      if (redis.status === 'ready') return problems.refusals()
      if (isLoadingData()) return ['redis: connected, but not ready: it is loading its data']
      const reason = problems.connection()
      return ['redis: not reachable', ...(reason === '' ? [] : [`redis: ${reason}`])]
    },

    /** As of `problems`. While Redis loads its data, the client says only that it is not ready. */
    explained: (error: unknown) =>
      problems.explained(
        isLoadingData() && redisProblemOf(error, access) ? new Error('LOADING', { cause: error }) : error,
      ),

    /** Resolves when Redis is ready. Rejects when it is not ready within 3 seconds. */
    async ready(): Promise<void> {
      if (redis.status !== 'ready') await once(redis, 'ready', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
    },

    /** Ends all calls in flight with an error, also while Redis hangs: by new connections. */
    failCalls(): void {
      for (const { stream } of mastersOf(redis)) stream?.destroy()
    },

    /** Waits for calls in flight, then closes the connection. */
    async close(): Promise<void> {
      isClosed = true
      if (redis.status === 'ready') await redis.quit().catch(() => {})
      redis.disconnect()
    },
  }
}

/**
 * Emits an error when a connection ends before it is ready: ioredis ignores that, and often the reply that Redis sent
 * before. `endConnection` is called after such a reply.
 */
function reportSilentEnds(redis: RedisClient, endConnection: () => void): void {
  let isPending = false
  const settle = () => {
    isPending = false
  }
  redis.on('ready', settle).on('error', settle)
  redis.on('connect', () => {
    isPending = true
    if (redis instanceof Cluster) return
    redis.stream.once('data', (reply) => {
      const [, refusal] = REFUSED_CONNECTION.exec(String(reply)) ?? []
      if (refusal === undefined) return
      redis.emit('error', new Error(refusal))
      endConnection()
    })
  })
  redis.on('reconnecting', () => {
    const reason = redis instanceof Cluster ? 'no node of the Redis Cluster is ready' : 'Connection is closed.'
    if (isPending) redis.emit('error', new Error(reason))
  })
}

/** The kernel accepts connections of a server that hangs: only one that has sent something is loading. */
function isLoading(redis: RedisClient): boolean {
  return redis instanceof Redis && redis.status === 'connect' && redis.stream.bytesRead > 0
}

/** The caller decides what to do with a call that may have been executed. */
const FAIL_AT_ONCE = { enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 }
const WAIT_FOR_REDIS = { enableOfflineQueue: true, autoResendUnfulfilledCommands: true, maxRetriesPerRequest: null }

const retryDelay = (attempt: number) => Math.min(attempt * RECONNECT_STEP_MS, RECONNECT_MAX_MS)

function optionsOf(problems: Problems) {
  return {
    connectionName: 'plant-store',
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    maxLoadingRetryTime: RECONNECT_MAX_MS,
    reconnectOnError(error) {
      problems.callFailed(error)
      // After a failover the old master is read-only: reconnect to find the new one.
      return READ_ONLY.test(error.message)
    },
  } satisfies RedisOptions
}

/** One server, or the master that sentinels name. */
function openServer({ place, secrets }: RedisAccess, problems: Problems, renew: () => void, patienceMs?: number) {
  const options = {
    ...optionsOf(problems),
    ...secrets.current(),
    ...(patienceMs === undefined ? FAIL_AT_ONCE : { ...WAIT_FOR_REDIS, commandTimeout: patienceMs }),
    retryStrategy: retryDelay,
    scripts: SCRIPTS,
  } satisfies RedisOptions
  const redis =
    place.is === 'sentinels'
      ? new Redis({
          ...options,
          ...place,
          enableTLSForSentinelMode: options.tls !== undefined,
          sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
          sentinelRetryStrategy(attempt: number) {
            renew()
            return retryDelay(attempt)
          },
          // A master that is cut off from the sentinels keeps its connections.
          failoverDetector: true,
        })
      : new Redis(place.is === 'server' ? place.url : '', options)
  redis.on('reconnecting', renew)
  return redis
}

/** The cluster client of ioredis, without what would break the read model's promises. */
class ReadModelCluster extends Cluster {
  /** Rejects calls at once while no node is reachable: ioredis keeps them without a limit in number or time. */
  override sendCommand(...args: Parameters<Cluster['sendCommand']>): unknown {
    const [command] = args
    if (this.status === 'ready' || command.name === 'cluster') return super.sendCommand(...args)
    command.reject(new Error('no node of the Redis Cluster is reachable'))
    return command.promise
  }

  /**
   * Does not follow ASK: while the keys of a slot move to another node one by one, a script there would take those that
   * are still missing for absent. The call fails, and a later one is redirected by MOVED when all keys have moved.
   */
  override handleError(...args: Parameters<Cluster['handleError']>): void {
    const [error, , handlers] = args
    if (error.message.startsWith('ASK ')) handlers.defaults()
    else super.handleError(...args)
  }
}

function openCluster({ place, secrets }: RedisAccess, problems: Problems, renew: () => void): Cluster {
  const cluster = new ReadModelCluster(place.is === 'cluster' ? place.nodes : [], {
    redisOptions: { ...optionsOf(problems), ...secrets.current(), autoResendUnfulfilledCommands: false },
    scripts: SCRIPTS,
    clusterRetryStrategy: retryDelay,
    // A call that may have been executed is the caller's to repeat, as with a single server.
    retryDelayOnFailover: 0,
    // Names stay names: the certificate of a node has one.
    dnsLookup: (host, callback) => callback(null, host),
    lazyConnect: true,
  })
  cluster.on('+node', renew)
  cluster.on('-node', renew)
  cluster.on('node error', problems.callFailed)
  cluster.connect().catch(() => {})
  return cluster
}

/** The servers that hold the keys: one, or the masters of a cluster. */
export function mastersOf(redis: RedisClient): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis]
}

/**
 * Sends all calls of this iteration of the event loop in one write to each server: a system call for each is half of the
 * time that ioredis takes in a projector. Not for large calls: Redis would have to wait until all of them are packed. Not
 * by pipelines of ioredis: one is for a single node of a cluster.
 */
export function sendTogether(redis: RedisClient): void {
  for (const { stream } of mastersOf(redis)) {
    if (stream === undefined || stream.writableCorked > 0) continue
    stream.cork()
    setImmediate(() => stream.uncork())
  }
}
