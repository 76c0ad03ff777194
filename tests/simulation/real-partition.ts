import { decodeEntry } from '@plant-store/shared/plant/entry.ts'
import { type PlantId, parsePlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { ListedSpan, Span } from '@plant-store/shared/protocol/list.ts'
import { type ApplyCall, applyArguments, applyResult } from '@plant-store/shared/read-model/apply.ts'
import { createGenerations, type SwitchCall, switchResult } from '@plant-store/shared/read-model/generations.ts'
import { createLookUp } from '@plant-store/shared/read-model/look-up.ts'
import { listedSpan } from '@plant-store/shared/read-model/read-model.ts'
import { storedCheckpoint } from '@plant-store/shared/read-model/state.ts'
import type { Redis } from 'ioredis'
import { pointerOf } from '../support/stored-partition.ts'
import { type BeginCall, type BeginOutcome, type SwitchOutcome, textsOf } from './generation-scripts.ts'
import type { ApplyOutcome, PartitionKeys, Refusal, StoredMeta } from './redis-scripts.ts'

/** One partition in a real Redis: the product's scripts, and direct access to damage and read its keys. */
export function openRealPartition(redis: Redis, topic: string, partition: Partition) {
  const pointer = pointerOf(topic, partition)
  // Its number of partitions, an argument of some scripts, is not used here.
  const { mark, state, span, drop } = createGenerations(redis, { topic, partitions: 0 })
  const { lookUp } = createLookUp(redis, { topic, partitions: partition + 1 })
  const prefix = pointer.slice(0, -'live'.length)
  const keys = () => redis.keys(`${prefix}*`)
  const remove = async (names: string[]) => {
    if (names.length > 0) await redis.del(names)
  }

  return {
    mark: (generation: string, text: string) => mark(partition, generation, text),
    state: (generation: string) => state(partition, generation),
    span: (generation: string, from: number, count: number) => span(partition, generation, from, count),
    drop: (generation: string, abandon: boolean) => drop(partition, generation, { abandon }),
    lookUp: async (ids: readonly PlantId[]) => (await lookUp([{ partition, ids }]))[0],

    async apply(call: ApplyCall): Promise<ApplyOutcome> {
      const reply = await redis.plantsApply(pointer, ...applyArguments(call))
      return refusalIn(reply) ?? applyResult(reply, call.partitions)
    },

    async begin({ freshName, foldVersion, partitions }: BeginCall): Promise<BeginOutcome> {
      const reply = await redis.plantsBegin(pointer, freshName, foldVersion, partitions)
      const [outcome, generation = '', offset, event] = reply
      const refusal = refusalIn(reply)
      if (refusal !== undefined) return refusal
      if (outcome === 'TAKEN') return { is: 'nameTaken' }
      const is = outcome === 'BEGUN' ? 'started' : outcome === 'RESUMED' ? 'resumed' : fail(String(outcome))
      return { is, generation, checkpoint: storedCheckpoint(offset, event) }
    },

    async switchTo(call: SwitchCall, foldVersion: number): Promise<SwitchOutcome> {
      const { generation, mark, expectedLive, verified } = call
      const reply = await redis.plantsSwitch(pointer, generation, mark, expectedLive, verified, foldVersion)
      return refusalIn(reply) ?? switchResult(reply)
    },

    async list({ from, count }: Span): Promise<ListedSpan> {
      return listedSpan(await redis.plantsListBuffer(pointer, from, count))
    },

    async readCheckpoint(): Promise<StoredMeta> {
      const [offset, event, partitions, fold, plants, voids, parked, generation] = await redis.plantsCheckpoint(pointer)
      return {
        checkpoint: storedCheckpoint(offset, event),
        partitions: partitions ? Number(partitions) : undefined,
        fold: fold ? Number(fold) : undefined,
        plants: Number(plants),
        voids: Number(voids),
        parked: Number(parked),
        generation: String(generation),
      }
    },

    losePointer: () => remove([pointer]),
    loseGeneration: (generation: string) =>
      remove(['meta', 'plants', 'order', 'parked'].map((key) => `${prefix}${generation}:${key}`)),
    loseEverything: async () => remove(await keys()),
    loseKey: (generation: string, key: string) => remove([`${prefix}${generation}:${key}`]),
    point: (generation: string) => redis.set(pointer, generation),

    /** Returns a function that restores all keys to their present values. */
    async takeSnapshot(): Promise<() => Promise<void>> {
      const names = await keys()
      const dumps = await Promise.all(names.map((name) => redis.dumpBuffer(name)))
      return async () => {
        await remove(await keys())
        await Promise.all(names.map((name, index) => redis.restore(name, 0, dumps[index] as Buffer)))
      }
    },

    /** Every key, without the prefix, and its value. */
    async stored(): Promise<Record<string, unknown>> {
      const read = async (key: string) => [key.slice(prefix.length), await contentOf(redis, key)] as const
      return Object.fromEntries(await Promise.all((await keys()).map(read)))
    },
  }
}

function fail(what: string): never {
  throw new Error(`the scripts do not say such a thing: ${what}`)
}

/** The product throws an error without the number. */
const refusalIn = ([outcome, found]: readonly string[]): Refusal | undefined =>
  outcome === 'FOLD' || outcome === 'PARTITIONS' ? { is: outcome, found: Number(found) } : undefined

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  if (key.endsWith(':live') || key.endsWith(':filling')) return redis.get(key)
  if (key.endsWith(':meta')) return redis.hgetall(key)
  if (key.endsWith(':order')) return redis.lrange(key, 0, -1)
  if (key.endsWith(':parked')) return redis.hgetall(key)
  if (!key.endsWith(':plants')) fail(key)
  const entries = Object.entries(await redis.hgetallBuffer(key))
  return Object.fromEntries(entries.map(([id, bytes]) => [id, decodeEntry(parsePlantId(id) ?? fail(id), bytes)]))
}

/**
 * The content of a Redis with these keys. Redis has no empty keys, and a count has no field before its first increment.
 */
export function asStored({ live, filling, generations }: PartitionKeys): Record<string, unknown> {
  const stored: Record<string, unknown> = { ...(live && { live }), ...(filling && { filling }) }
  for (const [name, generation] of generations) {
    const { plants, order, parked } = generation
    const { event, ...texts } = textsOf(generation)
    const fields = Object.entries(texts).filter(([, text]) => text !== '')
    stored[`${name}:meta`] = { event, ...Object.fromEntries(fields) }
    if (plants.size > 0) stored[`${name}:plants`] = Object.fromEntries(plants)
    if (order.length > 0) stored[`${name}:order`] = order.map(String)
    if (parked.size > 0)
      stored[`${name}:parked`] = Object.fromEntries([...parked].map(([offset, reason]) => [offset, String(reason)]))
  }
  return stored
}
