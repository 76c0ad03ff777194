import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Redis, type Result } from 'ioredis'
import type { Partition } from '../plant/position.ts'
import type { Log } from '../runtime/log.ts'

declare module 'ioredis' {
  interface RedisCommander<Context> {
    plantsApply(pointer: string, ...args: (string | number | Buffer)[]): Result<string[], Context>
    plantsLookUpBuffer(pointer: string, ...ids: string[]): Result<(Buffer | null)[], Context>
    plantsListBuffer(pointer: string, from: number, count: number): Result<Buffer[], Context>
    plantsCheckpoint(pointer: string): Result<string[], Context>
    plantsBegin(pointer: string, name: string, fold: number, partitions: number): Result<string[], Context>
    plantsMark(pointer: string, generation: string, mark: string): Result<string[], Context>
    plantsState(pointer: string, generation: string): Result<string[], Context>
    plantsSpanBuffer(pointer: string, generation: string, from: number, count: number): Result<Buffer[], Context>
    plantsSwitch(
      pointer: string,
      generation: string,
      mark: string,
      live: string,
      verified: number,
      fold: number,
    ): Result<string[], Context>
    plantsReapply(pointer: string, ...args: (string | number | Buffer)[]): Result<string[], Context>
    plantsDrop(pointer: string, generation: string, abandon: string): Result<string[], Context>
  }
}

type Script = ReturnType<typeof script>

const CONNECT_TIMEOUT_MS = 3_000
const COMMAND_TIMEOUT_MS = 2_000
/** A connection without a reply for this long is closed: when a host disappears, nothing closes its connections. */
const SOCKET_TIMEOUT_MS = 5_000
/** Not anchored: Redis 6.2 wraps an error within a script in another error. */
const READ_ONLY = /\bREADONLY\b/
const RECONNECT_MAX_MS = 1_000

/** A script in this folder. Its only key is the live pointer of a partition. */
export const script = (name: string) => ({
  lua: readFileSync(new URL(name, import.meta.url), 'utf8'),
  numberOfKeys: 1,
})

/** The prefix of all keys of a partition. Its hash tag keeps them on one node of a cluster. */
export const keyPrefix = (topic: string, partition: Partition) => `{${topic}:${partition}}:`

/** The key that names the live generation of a partition. */
export const livePointer = (topic: string, partition: Partition) => `${keyPrefix(topic, partition)}live`

/** A connection that reconnects automatically. Calls reject at once while Redis is unreachable. */
export function connectRedis(redisUrl: string, scripts: Record<string, Script>, log: Log) {
  const redis = new Redis(redisUrl, {
    connectionName: 'plant-store',
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(attempt * 50, RECONNECT_MAX_MS),
    maxLoadingRetryTime: RECONNECT_MAX_MS,
    // After a failover the old master is read-only: reconnect to find the new one.
    reconnectOnError: (error) => READ_ONLY.test(error.message),
    scripts,
  })
  let lastProblem = ''
  redis.on('error', (err: Error) => {
    if (err.message !== lastProblem) log.warn({ err }, 'redis: not reachable, retrying')
    lastProblem = err.message
  })
  redis.on('ready', () => {
    if (lastProblem !== '') log.info('redis: reachable again')
    lastProblem = ''
  })
  return {
    redis,

    isReady: (): boolean => redis.status === 'ready',

    /** Why Redis cannot be used now, as text for people; empty when it can. */
    problems(): string[] {
      if (redis.status === 'ready') return []
      if (redis.status === 'connect') return ['redis: connected, but not ready: it is loading its data']
      return ['redis: not reachable', ...(lastProblem === '' ? [] : [`redis: ${lastProblem}`])]
    },

    /** Resolves when Redis is ready. Rejects when it is not ready within 3 seconds. */
    async ready(): Promise<void> {
      if (redis.status !== 'ready') await once(redis, 'ready', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
    },

    /** Waits for calls in flight, then closes the connection. */
    async close(): Promise<void> {
      if (redis.status === 'ready') await redis.quit().catch(() => {})
      redis.disconnect()
    },
  }
}

/**
 * Sends all calls of this iteration of the event loop in one write: a system call for each is half of the time that
 * ioredis takes in a projector. Not for large calls: Redis would have to wait until all of them are packed.
 */
export function sendTogether({ stream }: Redis): void {
  if (stream === undefined || stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}
