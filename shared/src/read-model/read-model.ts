import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Redis, type Result } from 'ioredis'
import { parseEventId } from '../plant/event-id.ts'
import { type Offset, offsetOf, type Partition } from '../plant/offset.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { type PlantId, parsePlantId } from '../plant/plant-id.ts'
import { PreconditionError } from '../process/failures.ts'
import type { Log } from '../process/log.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { ListedSpan, Span } from '../protocol/list.ts'
import { decodeEntry, EntryError } from './entry.ts'
import { packRecords } from './packed-records.ts'

declare module 'ioredis' {
  interface RedisCommander<Context> {
    plantsApply(pointer: string, ...args: (string | number | Buffer)[]): Result<string[], Context>
    plantsLookUpBuffer(pointer: string, ...ids: string[]): Result<(Buffer | null)[], Context>
    plantsListBuffer(pointer: string, from: number, count: number): Result<Buffer[], Context>
    plantsCheckpoint(pointer: string): Result<string[], Context>
  }
}

/** Raised by a change of what apply.lua makes of a log. A release never applies to what a newer one folded. */
const FOLD_VERSION = 1
const CONNECT_TIMEOUT_MS = 3_000
const COMMAND_TIMEOUT_MS = 2_000
/** A connection on which no answer comes for so long is given up: a lost address closes nothing. */
const SOCKET_TIMEOUT_MS = 5_000
/** Redis 6.2 wraps what a script ran into in an error of its own. */
const READ_ONLY = /\bREADONLY\b/
const RECONNECT_MAX_MS = 1_000
const OLDEST_REDIS = [6, 2] as const

export type ReadModelSettings = { redisUrl: string; topic: string; partitions: number }

export type Applied = { is: 'applied' } | { is: 'stale'; checkpoint: Checkpoint }

/** The entries found, in the order asked for, and how far the model had come when they were read. */
export type PartitionLookUp = { checkpoint: Offset; entries: (Claim | undefined)[] }

export type PartitionSpan = Span & { partition: Partition }

export type PartitionMeta = {
  checkpoint: Checkpoint
  plants: number
  voids: number
  parked: number
  generation: string
}

export type ReadModel = ReturnType<typeof createReadModel>

const script = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')

/**
 * The read model in Redis: per partition the exact fold of its log's offsets 0..checkpoint. All keys of a
 * partition share a hash tag, so that a cluster keeps them together. Calls reject at once while Redis is away.
 */
export function createReadModel({ redisUrl, topic, partitions }: ReadModelSettings, log: Log) {
  const redis = new Redis(redisUrl, {
    connectionName: 'plant-store',
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(attempt * 50, RECONNECT_MAX_MS),
    // After a failover the old master is read-only: find the new one.
    reconnectOnError: (error) => READ_ONLY.test(error.message),
    scripts: {
      plantsApply: { lua: script('apply.lua'), numberOfKeys: 1 },
      plantsLookUp: { lua: script('look-up.lua'), numberOfKeys: 1 },
      plantsList: { lua: script('list.lua'), numberOfKeys: 1 },
      plantsCheckpoint: { lua: script('checkpoint.lua'), numberOfKeys: 1 },
    },
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
  const pointers = Array.from({ length: partitions }, (_, partition) => `{${topic}:${partition}}:live`)
  const pointer = (partition: Partition) => pointers[partition] as string

  return {
    isReady: (): boolean => redis.status === 'ready',

    /** Resolves when Redis can be asked; rejects with the reason when it can't be reached now. */
    async ready(): Promise<void> {
      if (redis.status !== 'ready')
        await once(redis, 'ready', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
    },

    /** Throws a PreconditionError when this Redis is too old or would forget plants. */
    async checkServer(): Promise<void> {
      checkServerInfo(await redis.info())
    },

    /** One round trip for any number of partitions; each partition's answer is atomic. */
    async lookUp(
      asked: readonly { partition: Partition; ids: readonly PlantId[] }[],
    ): Promise<PartitionLookUp[]> {
      const pipeline = redis.pipeline()
      for (const { partition, ids } of asked)
        pipeline.plantsLookUpBuffer(pointer(partition), ...ids.map(String))
      const answers = (await pipeline.exec()) ?? []
      return asked.map(({ ids }, index) => {
        const [error, found] = answers[index] as [Error | null, (Buffer | null)[]]
        if (error !== null) throw error
        const entries = ids.map((id, at) => {
          const bytes = found[at + 1]
          return bytes ? decodeEntry(id, bytes) : undefined
        })
        return { checkpoint: offsetOf(String(found[0])), entries }
      })
    },

    /** One round trip for any number of spans, of at most 1,000 plants each; each span's answer is atomic. */
    async list(asked: readonly PartitionSpan[]): Promise<ListedSpan[]> {
      const pipeline = redis.pipeline()
      for (const { partition, from, count } of asked)
        pipeline.plantsListBuffer(pointer(partition), from, count)
      const answers = (await pipeline.exec()) ?? []
      return answers.map(([error, found]) => {
        if (error !== null) throw error
        return listedSpan(found as Buffer[])
      })
    },

    /** What the live generation of a partition says of itself. Throws a PreconditionError for one of another topic size. */
    async meta(partition: Partition): Promise<PartitionMeta> {
      const [offset, event, count, fold, plants, voids, parked, generation] = await redis.plantsCheckpoint(
        pointer(partition),
      )
      if (count) refuseOtherSize(Number(count), partitions)
      if (fold) refuseNewerFold(Number(fold))
      return {
        checkpoint: checkpointOf(offset, event),
        plants: Number(plants),
        voids: Number(voids),
        parked: Number(parked),
        generation: generation ?? '',
      }
    },

    /**
     * Applies records to the live generation if its checkpoint is still the expected one, and moves it to
     * `next`, in one step. Throws a PreconditionError for a generation of a newer release or another topic size.
     */
    async apply(
      partition: Partition,
      expected: Checkpoint,
      next: Checkpoint,
      records: readonly LogRecord[],
      freshGeneration: string,
    ): Promise<Applied> {
      const [outcome, first, second] = await redis.plantsApply(
        pointer(partition),
        '',
        FOLD_VERSION,
        partitions,
        expected.offset,
        next.offset,
        next.eventId,
        freshGeneration,
        packRecords(records),
      )
      if (outcome === 'FOLD') refuseNewerFold(Number(first))
      if (outcome === 'PARTITIONS') refuseOtherSize(Number(first), partitions)
      if (outcome === 'STALE') return { is: 'stale', checkpoint: checkpointOf(first, second) }
      if (outcome !== 'OK') throw new Error(`the read model did not apply: ${outcome}`)
      return { is: 'applied' }
    },

    /** Lets calls under way finish. */
    async close(): Promise<void> {
      if (redis.status === 'ready') await redis.quit().catch(() => {})
      redis.disconnect()
    },
  }
}

/** Throws an EntryError for what no release would have stored. */
export function listedSpan([checkpoint, plants, ...found]: readonly (Buffer | null)[]): ListedSpan {
  const claims: Claim[] = []
  for (let n = 0; n < found.length; n += 2) {
    const text = String(found[n])
    const [id, entry] = [parsePlantId(text), found[n + 1]]
    if (id === undefined || !entry)
      throw new EntryError(`the read model lists ${text}, but has no entry for it`)
    claims.push(decodeEntry(id, entry))
  }
  return { claims, plants: Number(plants), checkpoint: offsetOf(String(checkpoint)) }
}

function checkpointOf(offset = '-1', event = ''): Checkpoint {
  return { offset: offsetOf(offset) as Offset, eventId: parseEventId(event) ?? '' }
}

function checkServerInfo(info: string): void {
  const field = (name: string) => info.match(new RegExp(`^${name}:(.*?)\\r?$`, 'm'))?.[1] ?? ''
  const version = field('redis_version')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1])) {
    throw new PreconditionError(`Redis ${version} is too old: use ${OLDEST_REDIS.join('.')} or newer`)
  }
  const policy = field('maxmemory_policy')
  if (policy !== 'noeviction') {
    throw new PreconditionError(
      `Redis would evict plants when it is full: set maxmemory-policy to noeviction (it is ${policy})`,
    )
  }
}

function refuseOtherSize(found: number, configured: number): void {
  if (found === configured) return
  throw new PreconditionError(
    `the read model was folded from a topic of ${found} partitions, but PLANTS_PARTITIONS is ${configured}: ` +
      'set it right, or use another REDIS_URL, or delete the keys of this topic to have them folded again',
  )
}

function refuseNewerFold(found: number): void {
  if (found <= FOLD_VERSION) return
  throw new PreconditionError(
    `the read model was folded by a newer release (fold version ${found}, this one has ${FOLD_VERSION}): start that release`,
  )
}
