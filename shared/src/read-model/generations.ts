import { decodeEntry, encodeEntry } from '../plant/entry.ts'
import { parsePlantId } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { allPartitions, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { PackedSpan } from '../protocol/packed-claims.ts'
import { resultOf } from '../runtime/failures.ts'
import { type ApplyResult, applyResult, packRecords, type Reapplied } from './apply.ts'
import { keyPrefix, livePointer, mastersOf, type RedisClient } from './redis.ts'
import { FOLD_VERSION, type GenerationState, generationState, refuse, storedCheckpoint } from './state.ts'

/** The generation that a rebuild fills, and its checkpoint. */
export type StartResult =
  | { is: 'started' | 'resumed'; generation: string; checkpoint: Checkpoint }
  /** There are keys under the fresh name: try another one. */
  | { is: 'nameTaken' }

export type MarkResult = { is: 'marked' } | { is: 'gone' } | { is: 'live' }

export type SwitchCall = {
  generation: string
  /** The mark that was set before the verification. */
  mark: string
  /** The generation that the pointer is expected to name; '' when there should be no pointer. */
  expectedLive: string
  /** The checkpoint up to which the generation was verified. */
  verified: Offset
}

export type SwitchResult =
  | { is: 'switched' }
  | { is: 'gone' }
  | { is: 'unmarked'; mark: string }
  | { is: 'changed'; live: string }
  | { is: 'fellBack'; checkpoint: Offset }
  | { is: 'behind'; checkpoint: Offset; live: Offset }

export type DropResult = { is: 'dropped'; keys: number } | { is: 'live' } | { is: 'filling' }

/** The generations that the pointers of a partition name; '' without a pointer. */
export type Pointers = { live: string; filling: string }

/** The pointers of a partition, and the names of all generations that have a key. */
export type PartitionGenerations = Pointers & { partition: Partition; names: string[] }

/** One entry of a generation. The claim is undefined when this release cannot read it. */
export type StoredPlant = { id: string; claim: Claim | undefined }

export type Generations = ReturnType<typeof createGenerations>

const PLANTS_PER_SCAN = 1_000
const KEYS_PER_SCAN = 1_000
/** Type of an absent key. */
const NO_KEY = 'none'
const MEMORY_SAMPLES = 20
const KINDS = new Set(['meta', 'plants', 'order', 'parked'])

/**
 * All generations of each partition, for a rebuild and for operators. A result other than success means that nothing
 * changed. `startFilling`, `fill`, `switchTo` and `reapply` throw a PreconditionError for the fold of a newer release.
 */
export function createGenerations(redis: RedisClient, { topic, partitions }: { topic: string; partitions: number }) {
  const pointer = (partition: Partition) => livePointer(topic, partition)
  const keyOf = (partition: Partition, generation: string, kind: string) =>
    `${keyPrefix(topic, partition)}${generation}:${kind}`

  async function pointers(partition: Partition): Promise<Pointers> {
    // Both keys have the same hash slot; a cluster rejects an MGET over two partitions.
    const [live, filling] = await redis.mget(pointer(partition), `${keyPrefix(topic, partition)}filling`)
    return { live: live ?? '', filling: filling ?? '' }
  }

  return {
    pointers,

    /**
     * Resumes the generation that an earlier rebuild was filling, or creates one under the fresh name. Throws a
     * PreconditionError when the live generation was folded from a topic with another number of partitions.
     */
    async startFilling(partition: Partition, freshName: string): Promise<StartResult> {
      const [outcome = '', first = '', offset, event] = await redis.plantsBegin(
        pointer(partition),
        freshName,
        FOLD_VERSION,
        partitions,
      )
      if (outcome === 'TAKEN') return { is: 'nameTaken' }
      if (outcome !== 'BEGUN' && outcome !== 'RESUMED') refuse(outcome, first, partitions)
      const is = outcome === 'BEGUN' ? 'started' : 'resumed'
      return { is, generation: first, checkpoint: storedCheckpoint(offset, event) }
    },

    /**
     * Applies records to a generation if its checkpoint is still the expected one, of which only the offset is compared,
     * and moves the checkpoint to `next`, atomically. A generation that is gone is never created again; for '', the live
     * one, one of the fresh name is.
     */
    async fill(
      partition: Partition,
      generation: string,
      expected: Checkpoint,
      next: Checkpoint,
      records: readonly LogRecord[],
      freshName = '',
    ): Promise<ApplyResult | { is: 'gone' }> {
      const checkpoints = [expected.offset, next.offset, next.eventId]
      const args = [generation, FOLD_VERSION, partitions, ...checkpoints, freshName, packRecords(records)]
      return applyResult(await redis.plantsApply(pointer(partition), ...args), partitions)
    },

    /** Marks a generation before it is verified. `switchTo` requires the mark. */
    async mark(partition: Partition, generation: string, mark: string): Promise<MarkResult> {
      const [outcome = ''] = await redis.plantsMark(pointer(partition), generation, mark)
      if (outcome === 'GONE') return { is: 'gone' }
      if (outcome === 'LIVE') return { is: 'live' }
      return outcome === 'OK' ? { is: 'marked' } : refuse(outcome)
    },

    /** The meta of a generation ('' for the live one) and the sizes of its keys, read atomically. */
    async state(partition: Partition, generation = ''): Promise<GenerationState> {
      return generationState(await redis.plantsState(pointer(partition), generation))
    },

    /** Makes a generation live if it has the mark of its verification and is not behind the live one. */
    async switchTo(partition: Partition, call: SwitchCall): Promise<SwitchResult> {
      const { generation, mark, expectedLive, verified } = call
      return switchResult(
        await redis.plantsSwitch(pointer(partition), generation, mark, expectedLive, verified, FOLD_VERSION),
      )
    },

    /** Deletes a generation, unless it is live. One that a rebuild is filling is deleted only with `abandon`. */
    async drop(partition: Partition, generation: string, options?: { abandon: boolean }): Promise<DropResult> {
      const abandon = options?.abandon ? 'abandon' : ''
      const [outcome = '', keys] = await redis.plantsDrop(pointer(partition), generation, abandon)
      if (outcome === 'LIVE') return { is: 'live' }
      if (outcome === 'FILLING') return { is: 'filling' }
      return outcome === 'OK' ? { is: 'dropped', keys: Number(keys) } : refuse(outcome)
    },

    /**
     * All generations that have a key in Redis, and the keys of this topic that belong to no generation. Scans all keys
     * of Redis, 1,000 at a time, and reads the pointers afterwards.
     */
    async list(): Promise<{ partitions: PartitionGenerations[]; strange: string[] }> {
      const names = allPartitions(partitions).map(() => new Set<string>())
      const strange: string[] = []
      const assign = (key: string) => {
        const [partition, name] = ownerOf(key, topic)
        const known = names[partition]
        if (known === undefined || name === undefined) strange.push(key)
        else if (name !== '') known.add(name)
      }
      for (const master of mastersOf(redis)) {
        const scanned = scan((cursor) => master.scan(cursor, 'MATCH', `{${topic}:*`, 'COUNT', KEYS_PER_SCAN))
        for await (const keys of scanned) keys.forEach(assign)
      }
      const found = allPartitions(partitions).map(async (partition) => {
        const known = [...(names[partition] ?? [])].sort()
        return { partition, ...(await pointers(partition)), names: known }
      })
      return { partitions: await Promise.all(found), strange: strange.sort() }
    },

    /** The reason why the record at an offset is parked in the live generation; undefined when it is not. */
    async parkedAt(partition: Partition, offset: Offset): Promise<number | undefined> {
      const live = await redis.get(pointer(partition))
      const reason = live === null ? null : await redis.hget(keyOf(partition, live, 'parked'), String(offset))
      return reason === null ? undefined : Number(reason)
    },

    /**
     * Reapplies parked records of the live generation as this release reads them. Returns the number of records that
     * changed. Idempotent. Throws a PreconditionError when the generation was folded from a topic with another number
     * of partitions.
     */
    async reapply(partition: Partition, reapplied: readonly Reapplied[]): Promise<number> {
      const args = reapplied.flatMap(({ was, record: { offset, claim, parked = '' } }) => {
        const claimed = claim === undefined ? ['', ''] : [String(claim.id), encodeEntry(claim)]
        return [offset, was, parked, ...claimed]
      })
      const reply = await redis.plantsReapply(pointer(partition), FOLD_VERSION, partitions, ...args)
      const [outcome = '', first] = reply
      // A projector that starts a new generation reads the records with its own release.
      if (outcome === 'GONE') return 0
      return outcome === 'OK' ? Number(first) : refuse(outcome, first, partitions)
    },

    /** Memory of a generation in bytes, estimated from a sample of the elements of each key. */
    async bytes(partition: Partition, generation: string): Promise<number> {
      const sizes = [...KINDS].map((kind) =>
        redis.memory('USAGE', keyOf(partition, generation, kind), 'SAMPLES', MEMORY_SAMPLES),
      )
      return (await Promise.all(sizes)).reduce((sum: number, size) => sum + Number(size ?? 0), 0)
    },

    /**
     * All entries that exist during the whole scan, in batches, in no order. An entry that is added or deleted during
     * the scan may be among them. An entry may occur twice.
     */
    async *plants(partition: Partition, generation: string): AsyncGenerator<StoredPlant[]> {
      for await (const found of scanHash(redis, keyOf(partition, generation, 'plants'))) {
        yield found.map(([id, entry]) => ({ id: String(id), claim: claimOf(String(id), entry) }))
      }
    },

    /** The existing entries among these ids. */
    async entries(partition: Partition, generation: string, ids: readonly string[]): Promise<StoredPlant[]> {
      const found = await redis.hmgetBuffer(keyOf(partition, generation, 'plants'), ...ids)
      return ids.flatMap((id, at) => {
        const entry = found[at]
        return entry ? [{ id, claim: claimOf(id, entry) }] : []
      })
    },

    /** `count` ids in log order from index `from` on. */
    async order(partition: Partition, generation: string, from: number, count: number): Promise<string[]> {
      // Without a count the last index would be -1, the end of the list.
      return count === 0 ? [] : redis.lrange(keyOf(partition, generation, 'order'), from, from + count - 1)
    },

    /** `count` plants (at most 1,000) from index `from` on, read atomically. */
    async span(partition: Partition, generation: string, from: number, count: number): Promise<PackedSpan> {
      const [ids, lengths, entries] = await redis.plantsSpanBuffer(pointer(partition), generation, from, count)
      return { ids, lengths, entries } as PackedSpan
    },

    /** The parked offsets, each with its stored reason, in batches like those of `plants`. */
    async *parked(partition: Partition, generation: string): AsyncGenerator<[string, string][]> {
      for await (const found of scanHash(redis, keyOf(partition, generation, 'parked'))) {
        yield found.map(([offset, reason]) => [String(offset), String(reason)])
      }
    },

    metaFields: (partition: Partition, generation: string): Promise<string[]> =>
      redis.hkeys(keyOf(partition, generation, 'meta')),

    /** The type of each existing key among the pointers and the keys of a generation. Safe for keys of a wrong type. */
    async keyTypes(partition: Partition, generation: string): Promise<Map<string, string>> {
      const typeOf = async (name: string): Promise<[string, string]> => {
        const key = KINDS.has(name) ? keyOf(partition, generation, name) : `${keyPrefix(topic, partition)}${name}`
        return [name, await redis.type(key)]
      }
      const types = await Promise.all(['live', 'filling', ...KINDS].map(typeOf))
      return new Map(types.filter(([, type]) => type !== NO_KEY))
    },
  }
}

export function switchResult([outcome = '', first = '', second = '']: readonly string[]): SwitchResult {
  if (outcome === 'OK') return { is: 'switched' }
  if (outcome === 'GONE') return { is: 'gone' }
  if (outcome === 'UNMARKED') return { is: 'unmarked', mark: first }
  if (outcome === 'CHANGED') return { is: 'changed', live: first }
  if (outcome === 'FELLBACK') return { is: 'fellBack', checkpoint: offsetOf(first) }
  if (outcome === 'BEHIND') return { is: 'behind', checkpoint: offsetOf(first), live: offsetOf(second) }
  return refuse(outcome, first)
}

function claimOf(text: string, entry: Buffer | null | undefined): Claim | undefined {
  const id = parsePlantId(text)
  return id === undefined || !entry ? undefined : resultOf(() => decodeEntry(id, entry))
}

/** The partition and generation of a key. The generation is '' for a pointer, undefined for a key of none. */
function ownerOf(key: string, topic: string): [partition: number, generation: string | undefined] {
  const text = key.slice(topic.length + 2)
  const [, partition = '', name = ''] = /^(0|[1-9]\d{0,8})\}:(.*)$/s.exec(text) ?? []
  const number = partition === '' ? -1 : Number(partition)
  if (name === 'live' || name === 'filling') return [number, '']
  const colon = name.lastIndexOf(':')
  return [number, colon > 0 && KINDS.has(name.slice(colon + 1)) ? name.slice(0, colon) : undefined]
}

/** The results of a scan, call by call, until its cursor is back at its start. */
async function* scan<T>(call: (cursor: string) => Promise<[cursor: string | Buffer, found: T[]]>): AsyncGenerator<T[]> {
  let cursor = '0'
  do {
    const [next, found] = await call(cursor)
    if (found.length > 0) yield found
    cursor = String(next)
  } while (cursor !== '0')
}

async function* scanHash(redis: RedisClient, key: string): AsyncGenerator<[Buffer, Buffer][]> {
  for await (const found of scan((cursor) => redis.hscanBuffer(key, cursor, 'COUNT', PLANTS_PER_SCAN))) {
    const pairs: [Buffer, Buffer][] = []
    for (let n = 0; n < found.length; n += 2) pairs.push([found[n] as Buffer, found[n + 1] as Buffer])
    yield pairs
  }
}
