import { once } from 'node:events'
import { allPartitions, type Offset, offsetOf, type Partition } from '../plant/offset.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { type PlantId, parsePlantId } from '../plant/plant-id.ts'
import { PreconditionError } from '../process/failures.ts'
import type { Log } from '../process/log.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { ListedSpan, Span } from '../protocol/list.ts'
import { type Applied, appliedOf, applyArguments } from './apply.ts'
import { decodeEntry, EntryError } from './entry.ts'
import { createGenerations } from './generations.ts'
import { CONNECT_TIMEOUT_MS, connectRedis, livePointer } from './redis.ts'
import { FOLD_VERSION, refuseNewerFold, refuseOtherSize } from './refusals.ts'
import { storedCheckpoint } from './stored-checkpoint.ts'

const OLDEST_REDIS = [6, 2] as const

export type ReadModelSettings = { redisUrl: string; topic: string; partitions: number }

/**
 * The entries found, in the order asked for, and how far the model had come when they were read. One that
 * this release can't read is an error of its own: others that were asked for along with it are as good as ever.
 */
export type PartitionLookUp = { checkpoint: Offset; entries: (Claim | EntryError | undefined)[] }

export type PartitionSpan = Span & { partition: Partition }

export type PartitionMeta = {
  checkpoint: Checkpoint
  plants: number
  voids: number
  parked: number
  generation: string
}

export type ReadModel = ReturnType<typeof createReadModel>

/**
 * The read model in Redis: per partition the exact fold of its log's offsets 0..checkpoint. All keys of a
 * partition share a hash tag, so that a cluster keeps them together. Calls reject at once while Redis is away.
 */
export function createReadModel({ redisUrl, topic, partitions }: ReadModelSettings, log: Log) {
  const { redis, problems } = connectRedis(redisUrl, log)
  const pointers = allPartitions(partitions).map((partition) => livePointer(topic, partition))
  const pointer = (partition: Partition) => pointers[partition] as string

  return {
    /** What a rebuild and an operator see: all generations of a partition, not the live one alone. */
    generations: createGenerations(redis, { topic, partitions }),

    isReady: (): boolean => redis.status === 'ready',

    /** Why Redis can't be asked now, in words; none when it can. */
    problems,

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
          return bytes ? readEntry(id, bytes) : undefined
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
        checkpoint: storedCheckpoint(offset, event),
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
      const scope = { generation: '', foldVersion: FOLD_VERSION, partitions }
      const call = { ...scope, expected, next, freshGeneration, records }
      const answer = await redis.plantsApply(pointer(partition), ...applyArguments(call))
      const applied = appliedOf(answer, partitions)
      if (applied.is === 'gone') throw new Error('the read model did not apply: GONE')
      return applied
    },

    /** Lets calls under way finish. */
    async close(): Promise<void> {
      if (redis.status === 'ready') await redis.quit().catch(() => {})
      redis.disconnect()
    },
  }
}

function readEntry(id: PlantId, bytes: Buffer): Claim | EntryError {
  try {
    return decodeEntry(id, bytes)
  } catch (error) {
    if (error instanceof EntryError) return error
    throw error
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

function checkServerInfo(info: string): void {
  const field = (name: string) => info.match(new RegExp(`^${name}:(.*?)\\r?$`, 'm'))?.[1] ?? ''
  const version = field('redis_version')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1])) {
    throw new PreconditionError(`Redis ${version} is too old: use ${OLDEST_REDIS.join('.')} or newer`)
  }
  const policy = field('maxmemory_policy')
  if (policy !== 'noeviction') {
    const evicted = Number(field('evicted_keys'))
    throw new PreconditionError(
      `Redis would evict plants when it is full: set maxmemory-policy to noeviction (it is ${policy})` +
        (evicted > 0
          ? `. It has evicted ${evicted} keys: delete those of this topic to have them folded again`
          : ''),
    )
  }
}
