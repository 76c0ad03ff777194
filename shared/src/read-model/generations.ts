import type { Redis } from 'ioredis'
import { parsePlantId } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { allPartitions, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { type Applied, appliedOf, applyArguments } from './apply.ts'
import { decodeEntry } from './entry.ts'
import type { PackedSpan } from './packed-span.ts'
import { type Reapplied, reappliedOf, reapplyArguments } from './reapply.ts'
import { keyPrefix, livePointer } from './redis.ts'
import { assertFoldVersion, assertPartitionCount, FOLD_VERSION } from './refusals.ts'
import { type GenerationState, generationState } from './state.ts'
import { storedCheckpoint } from './stored-checkpoint.ts'

/** The generation that a rebuild fills now, and how far it is. */
export type Begun =
  | { is: 'begun' | 'resumed'; generation: string; checkpoint: Checkpoint }
  /** The fresh name was not: try another. */
  | { is: 'taken' }

export type Filled = Applied | { is: 'gone' }

export type Marked = { is: 'marked' } | { is: 'gone' } | { is: 'live' }

export type SwitchCall = {
  generation: string
  /** What its verification began with. */
  mark: string
  /** What the pointer is expected to name; '' when there should be none. */
  expectedLive: string
  /** How far it was verified. */
  verified: Offset
}

export type Switched =
  | { is: 'switched' }
  | { is: 'gone' }
  | { is: 'unmarked'; mark: string }
  | { is: 'changed'; live: string }
  | { is: 'fellBack'; checkpoint: Offset }
  | { is: 'behind'; checkpoint: Offset; live: Offset }

export type Dropped = { is: 'dropped'; keys: number } | { is: 'live' } | { is: 'filling' }

/** What the pointers of a partition name; '' without one. */
export type Pointers = { live: string; filling: string }

/** What Redis holds of a partition: its pointers, and all that any key has the name of. */
export type PartitionGenerations = Pointers & { partition: Partition; names: string[] }

/** One entry of a generation; the claim is undefined when this release can't read it. */
export type StoredPlant = { id: string; claim: Claim | undefined }

export type Generations = ReturnType<typeof createGenerations>

const PLANTS_PER_SCAN = 1_000
const KEYS_PER_SCAN = 1_000
const NO_KEY = 'none'
const ENTRIES_WEIGHED = 20
const KINDS = new Set(['meta', 'plants', 'order', 'parked'])

/**
 * All generations of each partition: what a rebuild makes, fills, verifies and switches to, and what an operator
 * looks at. Whatever is refused changed nothing. Each verb throws a PreconditionError for what a newer release has folded.
 */
export function createGenerations(
  redis: Redis,
  { topic, partitions }: { topic: string; partitions: number },
) {
  const pointer = (partition: Partition) => livePointer(topic, partition)
  const keyOf = (partition: Partition, generation: string, kind: string) =>
    `${keyPrefix(topic, partition)}${generation}:${kind}`

  async function pointers(partition: Partition): Promise<Pointers> {
    // Two keys of one slot: a cluster would not tell those of two partitions at once.
    const [live, filling] = await redis.mget(pointer(partition), `${keyPrefix(topic, partition)}filling`)
    return { live: live ?? '', filling: filling ?? '' }
  }

  return {
    /** What the pointers of a partition name now. */
    pointers,

    /**
     * Takes up the generation that an earlier rebuild was filling, or begins one under the fresh name. Throws a
     * PreconditionError when the live one was folded from a topic of another size.
     */
    async begin(partition: Partition, freshName: string): Promise<Begun> {
      const [outcome = '', first = '', offset, event] = await redis.plantsBegin(
        pointer(partition),
        freshName,
        FOLD_VERSION,
        partitions,
      )
      if (outcome === 'TAKEN') return { is: 'taken' }
      if (outcome === 'PARTITIONS') assertPartitionCount(Number(first), partitions)
      if (outcome !== 'BEGUN' && outcome !== 'RESUMED') refuse(outcome, first)
      const is = outcome === 'BEGUN' ? 'begun' : 'resumed'
      return { is, generation: first, checkpoint: storedCheckpoint(offset, event) }
    },

    /**
     * Applies records to this generation if its checkpoint is still the expected one, and moves it to `next`, in one
     * step. One that is gone is never made again.
     */
    async fill(
      partition: Partition,
      generation: string,
      expected: Checkpoint,
      next: Checkpoint,
      records: readonly LogRecord[],
    ): Promise<Filled> {
      const scope = { generation, foldVersion: FOLD_VERSION, partitions, freshGeneration: '' }
      const call = { ...scope, expected, next, records }
      return appliedOf(await redis.plantsApply(pointer(partition), ...applyArguments(call)), partitions)
    },

    /** Marks a generation before it is verified; `switchTo` demands the mark. */
    async mark(partition: Partition, generation: string, mark: string): Promise<Marked> {
      const [outcome = ''] = await redis.plantsMark(pointer(partition), generation, mark)
      if (outcome === 'GONE') return { is: 'gone' }
      if (outcome === 'LIVE') return { is: 'live' }
      return outcome === 'OK' ? { is: 'marked' } : refuse(outcome)
    },

    /** All that a generation ('' for the live one) says of itself, and what its keys hold, at one moment. */
    async state(partition: Partition, generation = ''): Promise<GenerationState> {
      return generationState(await redis.plantsState(pointer(partition), generation))
    },

    /** Makes a generation live if it is the one that was marked and verified, and has come at least as far as the live one. */
    async switchTo(partition: Partition, call: SwitchCall): Promise<Switched> {
      const { generation, mark, expectedLive, verified } = call
      return switchedOf(
        await redis.plantsSwitch(pointer(partition), generation, mark, expectedLive, verified, FOLD_VERSION),
      )
    },

    /** Takes a generation away, unless it is live, or being filled and not to be abandoned. */
    async drop(
      partition: Partition,
      generation: string,
      { abandon = false }: { abandon?: boolean } = {},
    ): Promise<Dropped> {
      const [outcome = '', keys] = await redis.plantsDrop(
        pointer(partition),
        generation,
        abandon ? 'abandon' : '',
      )
      if (outcome === 'LIVE') return { is: 'live' }
      if (outcome === 'FILLING') return { is: 'filling' }
      return outcome === 'OK' ? { is: 'dropped', keys: Number(keys) } : refuse(outcome)
    },

    /**
     * All generations that Redis has any key of, and the keys of this topic that belong to none. Walks through all keys
     * of Redis, 1,000 at a time; the pointers are read afterwards.
     */
    async list(): Promise<{ partitions: PartitionGenerations[]; strange: string[] }> {
      const names = allPartitions(partitions).map(() => new Set<string>())
      const strange: string[] = []
      for await (const key of scanKeys(redis, `{${topic}:*`)) {
        const [partition, name] = ownerOf(key, topic)
        const known = names[partition]
        if (known === undefined || name === undefined) strange.push(key)
        else if (name !== '') known.add(name)
      }
      const found = allPartitions(partitions).map(async (partition) => {
        const known = [...(names[partition] ?? [])].sort()
        return { partition, ...(await pointers(partition)), names: known }
      })
      return { partitions: await Promise.all(found), strange: strange.sort() }
    },

    /** Why the record at an offset is parked in the live generation; undefined when it is not. */
    async parkedAt(partition: Partition, offset: Offset): Promise<number | undefined> {
      const live = await redis.get(pointer(partition))
      const reason = live === null ? null : await redis.hget(keyOf(partition, live, 'parked'), String(offset))
      return reason === null ? undefined : Number(reason)
    },

    /**
     * Puts parked records of the live generation into place as this release reads them; tells how many that changed. Made
     * again it changes nothing.
     */
    async reapply(partition: Partition, reapplied: readonly Reapplied[]): Promise<number> {
      const args = reapplyArguments(partitions, reapplied)
      return reappliedOf(await redis.plantsReapply(pointer(partition), ...args), partitions)
    },

    /** Memory that a generation takes, in bytes; estimated, from a few entries of each key. */
    async bytes(partition: Partition, generation: string): Promise<number> {
      const sizes = [...KINDS].map((kind) =>
        redis.memory('USAGE', keyOf(partition, generation, kind), 'SAMPLES', ENTRIES_WEIGHED),
      )
      return (await Promise.all(sizes)).reduce((sum: number, size) => sum + Number(size ?? 0), 0)
    },

    /**
     * All entries there are from the beginning to the end of this, in batches, in no order; one that comes or goes
     * meanwhile may be among them, and each may come twice.
     */
    async *plants(partition: Partition, generation: string): AsyncGenerator<StoredPlant[]> {
      for await (const found of scanHash(redis, keyOf(partition, generation, 'plants'))) {
        yield found.map(([id, entry]) => ({ id: String(id), claim: claimOf(String(id), entry) }))
      }
    },

    /** The entries of these ids, those there are. */
    async entries(partition: Partition, generation: string, ids: readonly string[]): Promise<StoredPlant[]> {
      const found = await redis.hmgetBuffer(keyOf(partition, generation, 'plants'), ...ids)
      return ids.flatMap((id, at) => {
        const entry = found[at]
        return entry ? [{ id, claim: claimOf(id, entry) }] : []
      })
    },

    /** The first so many ids in log order, in batches. */
    async *order(partition: Partition, generation: string, count: number): AsyncGenerator<string[]> {
      for (let from = 0; from < count; from += PLANTS_PER_SCAN) {
        const last = Math.min(from + PLANTS_PER_SCAN, count) - 1
        const ids = await redis.lrange(keyOf(partition, generation, 'order'), from, last)
        if (ids.length === 0) return
        yield ids
      }
    },

    /** So many plants from this index on, at most 1,000, of one moment. */
    async span(partition: Partition, generation: string, from: number, count: number): Promise<PackedSpan> {
      const [ids, lengths, entries] = await redis.plantsSpanBuffer(
        pointer(partition),
        generation,
        from,
        count,
      )
      return { ids, lengths, entries } as PackedSpan
    },

    /** The offsets parked, each with its reason, as they are stored; in batches as `plants` has them. */
    async *parked(partition: Partition, generation: string): AsyncGenerator<[string, string][]> {
      for await (const found of scanHash(redis, keyOf(partition, generation, 'parked'))) {
        yield found.map(([offset, reason]) => [String(offset), String(reason)])
      }
    },

    /** The names of the fields of its meta. */
    metaFields: (partition: Partition, generation: string): Promise<string[]> =>
      redis.hkeys(keyOf(partition, generation, 'meta')),

    /** The type of each key that there is, of the pointers and of a generation: nothing else can be asked about a wrong one. */
    async keyTypes(partition: Partition, generation: string): Promise<Map<string, string>> {
      const kinds = [...KINDS]
      const keys = ['live', 'filling']
        .map((name) => `${keyPrefix(topic, partition)}${name}`)
        .concat(kinds.map((kind) => keyOf(partition, generation, kind)))
      const types = await Promise.all(keys.map((key) => redis.type(key)))
      const found = ['live', 'filling', ...kinds].map((name, at): [string, string] => [
        name,
        types[at] ?? NO_KEY,
      ])
      return new Map(found.filter(([, type]) => type !== NO_KEY))
    },
  }
}

export function switchedOf([outcome = '', first = '', second = '']: readonly string[]): Switched {
  if (outcome === 'OK') return { is: 'switched' }
  if (outcome === 'GONE') return { is: 'gone' }
  if (outcome === 'UNMARKED') return { is: 'unmarked', mark: first }
  if (outcome === 'CHANGED') return { is: 'changed', live: first }
  if (outcome === 'FELLBACK') return { is: 'fellBack', checkpoint: offsetOf(first) }
  if (outcome === 'BEHIND') return { is: 'behind', checkpoint: offsetOf(first), live: offsetOf(second) }
  return refuse(outcome, first)
}

function refuse(outcome: string, detail = ''): never {
  if (outcome === 'FOLD') assertFoldVersion(Number(detail))
  throw new Error(`the read model answers what no script here says: ${outcome}`)
}

function claimOf(text: string, entry: Buffer | null | undefined): Claim | undefined {
  const id = parsePlantId(text)
  try {
    return id === undefined || !entry ? undefined : decodeEntry(id, entry)
  } catch {
    return undefined
  }
}

/** Which partition a key lies in, and of which generation it is: '' for a pointer, undefined for what belongs to none. */
function ownerOf(key: string, topic: string): [partition: number, generation: string | undefined] {
  const text = key.slice(topic.length + 2)
  const [, partition = '', name = ''] = /^(0|[1-9]\d{0,8})\}:(.*)$/s.exec(text) ?? []
  const number = partition === '' ? -1 : Number(partition)
  if (name === 'live' || name === 'filling') return [number, '']
  const colon = name.lastIndexOf(':')
  return [number, colon > 0 && KINDS.has(name.slice(colon + 1)) ? name.slice(0, colon) : undefined]
}

async function* scanKeys(redis: Redis, pattern: string): AsyncGenerator<string> {
  let cursor = '0'
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_PER_SCAN)
    yield* keys
    cursor = next
  } while (cursor !== '0')
}

async function* scanHash(redis: Redis, key: string): AsyncGenerator<[Buffer, Buffer][]> {
  let cursor = '0'
  do {
    const [next, found] = await redis.hscanBuffer(key, cursor, 'COUNT', PLANTS_PER_SCAN)
    const pairs: [Buffer, Buffer][] = []
    for (let n = 0; n < found.length; n += 2) pairs.push([found[n] as Buffer, found[n + 1] as Buffer])
    if (pairs.length > 0) yield pairs
    cursor = String(next)
  } while (cursor !== '0')
}
