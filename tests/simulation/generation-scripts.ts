import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import type { Offset } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import type { PackedSpan } from '@plant-store/shared/protocol/packed-claims.ts'
import type {
  DropResult,
  MarkResult,
  StartResult,
  SwitchCall,
  SwitchResult,
} from '@plant-store/shared/read-model/generations.ts'
import { type GenerationState, refuse } from '@plant-store/shared/read-model/state.ts'
import { emptyGeneration, FOLD_VERSION, type Generation, type PartitionKeys, wholeGeneration } from './redis-scripts.ts'

// A model of the rebuild scripts of the read model (begin.lua, mark.lua, state.lua, span.lua, switch.lua, drop.lua) on
// one partition; see redis-scripts.ts.

const NO_EXPIRY = -1
const NO_KEY = -2
const ABSENT = { ...emptyGeneration(0), fold: 0 }

/** begin.lua: does not resume a generation of an older fold version or another partition count. */
export function beginScript(keys: PartitionKeys, freshName: string, partitions: number): StartResult {
  const live = keys.generations.get(keys.live)
  const begun = wholeGeneration(keys, keys.filling)
  for (const generation of [live, begun]) {
    if (generation !== undefined && generation.fold > FOLD_VERSION) refuse('FOLD', String(generation.fold))
  }
  if (live !== undefined && live.partitions !== partitions) refuse('PARTITIONS', String(live.partitions), partitions)
  const fits = begun?.fold === FOLD_VERSION && begun.partitions === partitions
  if (begun !== undefined && fits && keys.filling !== keys.live) {
    return { is: 'resumed', generation: keys.filling, checkpoint: begun.checkpoint }
  }
  if (keys.generations.has(freshName)) return { is: 'nameTaken' }
  keys.generations.set(freshName, emptyGeneration(partitions))
  keys.filling = freshName
  return { is: 'started', generation: freshName, checkpoint: BEFORE_LOG }
}

/** mark.lua */
export function markScript(keys: PartitionKeys, name: string, mark: string): MarkResult {
  const generation = wholeGeneration(keys, name)
  if (generation === undefined) return { is: 'gone' }
  if (keys.live === name) return { is: 'live' }
  generation.mark = mark
  return { is: 'marked' }
}

/** state.lua: one atomic read. */
export function stateScript(keys: PartitionKeys, requested: string): GenerationState {
  const { live, filling } = keys
  const name = requested || live
  const generation = keys.generations.get(name)
  const { fold, partitions, plantCount, voids, parkedCount, mark, ...values } = generation ?? ABSENT
  const sizes = { plants: values.plants.size, order: values.order.length, parked: values.parked.size }
  const expiry = (exists: unknown) => (exists ? NO_EXPIRY : NO_KEY)
  return {
    ...{ generation: name, live, filling, checkpoint: generation?.checkpoint, fold, partitions, mark },
    ...{ plants: plantCount, voids, parked: parkedCount },
    texts: textsOf(generation),
    sizes,
    ttlMs: {
      live: expiry(live),
      filling: expiry(filling),
      meta: expiry(generation),
      plants: expiry(sizes.plants),
      order: expiry(sizes.order),
      parked: expiry(sizes.parked),
    },
  }
}

/** A count has no field before its first increment. */
export function textsOf(generation: Generation | undefined): GenerationState['texts'] {
  const { checkpoint, fold, partitions, plantCount, voids, parkedCount, mark } = generation ?? {}
  const text = (value: number | undefined) => (value === undefined ? '' : String(value))
  const count = (value: number | undefined) => (value === 0 ? '' : text(value))
  return {
    checkpoint: text(checkpoint?.offset),
    event: checkpoint?.eventId ?? '',
    fold: text(fold),
    partitions: text(partitions),
    mark: mark ?? '',
    plants: count(plantCount),
    voids: count(voids),
    parked: count(parkedCount),
  }
}

/** span.lua: a generation that is gone has an empty span. */
export function spanScript(keys: PartitionKeys, name: string, from: number, count: number): PackedSpan {
  const { order, plants } = keys.generations.get(name) ?? { order: [], plants: new Map() }
  const ids = order.slice(from, from + count)
  const claims = ids.map((id) => plants.get(id))
  const entries = claims.map((claim) => (claim === undefined ? Buffer.alloc(0) : encodeEntry(claim)))
  const lengths = entries.flatMap(({ length }, n) =>
    claims[n] === undefined ? [0xff, 0xff] : [length >> 8, length & 0xff],
  )
  return { ids: Buffer.from(ids.join()), lengths: Buffer.from(lengths), entries: Buffer.concat(entries) }
}

/** switch.lua: all refusals come before the first change. */
export function switchScript(keys: PartitionKeys, call: SwitchCall): SwitchResult {
  const { generation: name, mark, expectedLive, verified } = call
  const generation = wholeGeneration(keys, name)
  if (generation === undefined) return { is: 'gone' }
  if (generation.mark !== mark) return { is: 'unmarked', mark: generation.mark }
  const { live } = keys
  if (live !== expectedLive) return { is: 'changed', live }
  const reached = generation.checkpoint.offset
  if (reached < verified) return { is: 'fellBack', checkpoint: reached }
  const old = keys.generations.get(live)
  const toReach = old === undefined ? (-1 as Offset) : old.checkpoint.offset
  if (reached < toReach) return { is: 'behind', checkpoint: reached, live: toReach }
  for (const { fold } of [generation, old ?? generation]) {
    if (fold > FOLD_VERSION) refuse('FOLD', String(fold))
  }
  keys.live = name
  if (keys.filling === name) keys.filling = ''
  generation.mark = ''
  return { is: 'switched' }
}

/** drop.lua: counts only existing keys; Redis has no empty ones. */
export function dropScript(keys: PartitionKeys, name: string, abandon: boolean): DropResult {
  if (keys.live === name) return { is: 'live' }
  if (keys.filling === name && !abandon) return { is: 'filling' }
  if (keys.filling === name) keys.filling = ''
  const generation = keys.generations.get(name)
  keys.generations.delete(name)
  return { is: 'dropped', keys: generation === undefined ? 0 : keysOf(generation) }
}

function keysOf({ plants, order, parked }: Generation): number {
  return 1 + [plants.size, order.length, parked.size].filter((size) => size > 0).length
}
