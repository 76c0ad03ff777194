import { decodeEntry, EntryError } from '../plant/entry.ts'
import { type PlantId, parsePlantId } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { allPartitions, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { ListedSpan, Span } from '../protocol/list.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import type { ApplyResult } from './apply.ts'
import { createGenerations } from './generations.ts'
import { connectRedis, livePointer, mastersOf, type Patience, sendTogether } from './redis.ts'
import { withExplainedErrors } from './redis-problems.ts'
import type { RedisSettings } from './redis-settings.ts'
import { assertFoldVersion, assertPartitionCount, refuse, storedCheckpoint } from './state.ts'

const OLDEST_REDIS = [6, 2] as const
/** At most about 10 KiB per call. */
const SENT_TOGETHER_MAX_RECORDS = 64

export type ReadModelSettings = { redis: RedisSettings; topic: string; partitions: number }

export type PartitionSpan = Span & { partition: Partition }

/**
 * The entries, in the order of the requested ids, and the checkpoint at which they were read. An entry that this
 * release cannot read is an EntryError in its place: the other entries of the look-up are valid.
 */
export type PartitionLookUp = { checkpoint: Offset; entries: (Claim | EntryError | undefined)[] }

type LookUpRequest = { partition: Partition; ids: readonly PlantId[] }

export type PartitionMeta = Awaited<ReturnType<ReadModel['meta']>>

export type ReadModel = ReturnType<typeof createReadModel>

/**
 * The read model in Redis: for each partition the exact fold of the log's offsets 0 to checkpoint. All keys of a
 * partition share a hash tag, so that a cluster keeps them on one node. Calls reject at once while Redis is
 * unreachable, and say what to do; the error of the client is the cause. Throws a PreconditionError for settings that
 * are missing or contradict each other.
 */
export function createReadModel(settings: ReadModelSettings, log: Log, patience?: Patience) {
  const { topic, partitions } = settings
  const { redis, explained, ...connection } = connectRedis(settings.redis, log, patience)
  const pointers = allPartitions(partitions).map((partition) => livePointer(topic, partition))
  const pointer = (partition: Partition) => pointers[partition] as string
  const generations = createGenerations(redis, { topic, partitions })
  const withReasons = <T extends object>(methods: T) => withExplainedErrors(methods, explained)

  /**
   * Looks up ids of any number of partitions in one round trip, to a cluster in one to each master, with a promise for
   * each partition. It is read atomically.
   */
  function lookUpEach(requests: readonly LookUpRequest[]): Promise<PartitionLookUp>[] {
    sendTogether(redis)
    return requests.map(async ({ partition, ids }) => {
      const [checkpoint, ...found] = await redis.plantsLookUpBuffer(pointer(partition), ...ids.map(String))
      return { checkpoint: offsetOf(String(checkpoint)), entries: ids.map((id, at) => readEntry(id, found[at])) }
    })
  }

  return withReasons({
    ...connection,

    /** All generations of a partition, for rebuilds and operators. Everything else here uses the live one. */
    generations: withReasons(generations),

    lookUpEach,

    /** As `lookUpEach`, all or none. */
    lookUp: (requests: readonly LookUpRequest[]): Promise<PartitionLookUp[]> => Promise.all(lookUpEach(requests)),

    /**
     * The checkpoint and counts of the live generation of a partition. Throws a PreconditionError for a generation of a
     * newer release or of a topic with another number of partitions.
     */
    async meta(partition: Partition) {
      const [offset, event, count, fold, plants, voids, parked, generation] = await redis.plantsCheckpoint(
        pointer(partition),
      )
      if (count) assertPartitionCount(Number(count), partitions)
      if (fold) assertFoldVersion(Number(fold))
      return {
        checkpoint: storedCheckpoint(offset, event),
        plants: Number(plants),
        voids: Number(voids),
        parked: Number(parked),
        generation: generation ?? '',
      }
    },

    /** Throws a PreconditionError when Redis, or one master of a cluster, is too old, a sentinel or may evict plants. */
    async checkServer(): Promise<void> {
      const infos = await Promise.all(mastersOf(redis).map((master) => master.info()))
      for (const info of infos) checkServerInfo(info)
    },

    /** Reads any number of spans of at most 1,000 plants each, as `lookUpEach`. Each span is read atomically. */
    listEach(spans: readonly PartitionSpan[]): Promise<ListedSpan>[] {
      sendTogether(redis)
      return spans.map(async ({ partition, from, count }) =>
        listedSpan(await redis.plantsListBuffer(pointer(partition), from, count)),
      )
    },

    /**
     * Applies records to the live generation if its checkpoint is still the expected one, and moves the checkpoint to
     * `next`, atomically. Throws a PreconditionError for a generation of a newer release or of a topic with another
     * number of partitions.
     */
    async apply(
      partition: Partition,
      expected: Checkpoint,
      next: Checkpoint,
      records: readonly LogRecord[],
      freshGeneration: string,
    ): Promise<ApplyResult> {
      if (records.length <= SENT_TOGETHER_MAX_RECORDS) sendTogether(redis)
      const result = await generations.fill(partition, '', expected, next, records, freshGeneration)
      return result.is === 'gone' ? refuse('GONE') : result
    },
  })
}

function readEntry(id: PlantId, bytes: Buffer | null | undefined): Claim | EntryError | undefined {
  try {
    return bytes ? decodeEntry(id, bytes) : undefined
  } catch (error) {
    if (error instanceof EntryError) return error
    throw error
  }
}

/** Throws an EntryError for an id without an entry, or an entry that this release cannot read. */
export function listedSpan([checkpoint, plants, ...found]: readonly (Buffer | null)[]): ListedSpan {
  const claims: Claim[] = []
  for (let n = 0; n < found.length; n += 2) {
    const text = String(found[n])
    const [id, entry] = [parsePlantId(text), found[n + 1]]
    if (id === undefined || !entry) throw new EntryError(`the read model lists plant ${text} but has no entry for it`)
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
  if (field('redis_mode') === 'sentinel')
    throw new PreconditionError('REDIS_URL names a sentinel: set REDIS_SENTINELS and REDIS_SENTINEL_NAME instead')
  const policy = field('maxmemory_policy')
  if (policy !== 'noeviction') {
    const evicted = Number(field('evicted_keys'))
    throw new PreconditionError(
      `Redis would evict plants when it is full: set maxmemory-policy to noeviction (it is ${policy})` +
        (evicted > 0
          ? `. It has evicted ${evicted} keys: delete the keys of this topic to rebuild the read model`
          : ''),
    )
  }
}
