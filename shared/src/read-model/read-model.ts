import { parsePlantId } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { offsetOf, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { ListedSpan, Span } from '../protocol/list.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import { type Applied, appliedOf, applyArguments } from './apply.ts'
import { decodeEntry, EntryError } from './entry.ts'
import { createGenerations } from './generations.ts'
import { createLookUp } from './look-up.ts'
import { connectRedis, sendTogether } from './redis.ts'
import { FOLD_VERSION } from './refusals.ts'
import { SCRIPTS } from './scripts.ts'

const OLDEST_REDIS = [6, 2] as const
/** About 10 KiB. */
const SENT_TOGETHER_MAX_RECORDS = 64

export type ReadModelSettings = { redisUrl: string; topic: string; partitions: number }

export type PartitionSpan = Span & { partition: Partition }

export type ReadModel = ReturnType<typeof createReadModel>

/**
 * The read model in Redis: per partition the exact fold of its log's offsets 0..checkpoint. All keys of a
 * partition share a hash tag, so that a cluster keeps them together. Calls reject at once while Redis is away.
 */
export function createReadModel({ redisUrl, topic, partitions }: ReadModelSettings, log: Log) {
  const { redis, ...connection } = connectRedis(redisUrl, SCRIPTS, log)
  const { pointer, ...lookUp } = createLookUp(redis, { topic, partitions })

  return {
    ...connection,
    ...lookUp,

    /** What a rebuild and an operator see: all generations of a partition, not the live one alone. */
    generations: createGenerations(redis, { topic, partitions }),

    /** Throws a PreconditionError when this Redis is too old or would forget plants. */
    async checkServer(): Promise<void> {
      checkServerInfo(await redis.info())
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
      if (records.length <= SENT_TOGETHER_MAX_RECORDS) sendTogether(redis)
      const answer = await redis.plantsApply(pointer(partition), ...applyArguments(call))
      const applied = appliedOf(answer, partitions)
      if (applied.is === 'gone') throw new Error('the read model did not apply: GONE')
      return applied
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
