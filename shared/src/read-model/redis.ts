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
    plantsSpanBuffer(
      pointer: string,
      generation: string,
      from: number,
      count: number,
    ): Result<Buffer[], Context>
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
/** A connection on which no answer comes for so long is given up: a lost address closes nothing. */
const SOCKET_TIMEOUT_MS = 5_000
/** Redis 6.2 wraps what a script ran into in an error of its own. */
const READ_ONLY = /\bREADONLY\b/
const RECONNECT_MAX_MS = 1_000

/** A script beside this file. Each is given the pointer of a partition as its key. */
export const script = (name: string) => ({
  lua: readFileSync(new URL(name, import.meta.url), 'utf8'),
  numberOfKeys: 1,
})

/** What all keys of a partition begin with; its hash tag keeps them together in a cluster. */
export const keyPrefix = (topic: string, partition: Partition) => `{${topic}:${partition}}:`

/** The key that names the live generation of a partition. */
export const livePointer = (topic: string, partition: Partition) => `${keyPrefix(topic, partition)}live`

/** A connection that comes back by itself. Calls reject at once while Redis is away. */
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
    // After a failover the old master is read-only: find the new one.
    reconnectOnError: (error) => READ_ONLY.test(error.message),
    scripts,
  })
  let lastProblem = ''
  redis.on('error', (err: Error) => {
    if (err.message !== lastProblem) log.warn({ err }, 'redis: not reachable, trying again')
    lastProblem = err.message
  })
  redis.on('ready', () => {
    if (lastProblem !== '') log.info('redis: reachable again')
    lastProblem = ''
  })
  return {
    redis,

    isReady: (): boolean => redis.status === 'ready',

    /** Why Redis can't be asked now, in words; none when it can. */
    problems(): string[] {
      if (redis.status === 'ready') return []
      if (redis.status === 'connect') return ['redis: it answers, but is not ready: it is loading its data']
      return ['redis: not reachable', ...(lastProblem === '' ? [] : [`redis: ${lastProblem}`])]
    },

    /** Resolves when Redis can be asked; rejects with the reason when it can't be reached now. */
    async ready(): Promise<void> {
      if (redis.status !== 'ready')
        await once(redis, 'ready', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
    },

    /** Lets calls under way finish. */
    async close(): Promise<void> {
      if (redis.status === 'ready') await redis.quit().catch(() => {})
      redis.disconnect()
    },
  }
}

/**
 * Has what is sent in this turn of the event loop go out together: a write of its own for each call, in the system, is half of
 * what ioredis takes of a projector. Not for what is large: Redis would wait for all of it to be made.
 */
export function sendTogether({ stream }: Redis): void {
  if (stream === undefined || stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}
