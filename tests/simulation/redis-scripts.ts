import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { ListedSpan, Span } from '@plant-store/shared/protocol/list.ts'
import type { PackedSpan } from '@plant-store/shared/protocol/packed-claims.ts'
import type { ApplyResult } from '@plant-store/shared/read-model/apply.ts'
import type * as Generations from '@plant-store/shared/read-model/generations.ts'
import type { PartitionLookUp, PartitionMeta } from '@plant-store/shared/read-model/read-model.ts'
import { type GenerationState, generationState, refuse } from '@plant-store/shared/read-model/state.ts'
import { ALL } from './kafka.ts'

// A model of the scripts of the read model on one partition: plain functions over plain data. A test compares the model
// with the real scripts on a real Redis, call by call and key by key. The model decides without the product's code: it
// has its own first-wins rule, so that the simulation can verify the product's. Only its errors are the product's.

/**
 * All keys of one generation. The writes of a script are replicated as one transaction, and a drop is one UNLINK. So
 * only a failover during the move of a slot separates them.
 */
export type Generation = {
  checkpoint: Checkpoint
  fold: number
  partitions: number
  plants: Map<PlantId, Claim>
  order: PlantId[]
  /** Number of plants in the meta. Larger than the size of `plants` and `order` if that key is lost. */
  plantCount: number
  parked: Map<Offset, number>
  /** Number of parked records. Larger than the size of `parked` when an offset was parked twice. */
  parkedCount: number
  voids: number
  /** Empty without one. */
  mark: string
}

/** All keys of one partition: the pointers, empty without one, and the generations. */
export type PartitionKeys = {
  live: string
  filling: string
  generations: Map<string, Generation>
}

/** The fold version of every call. */
export const FOLD_VERSION = 1

const NO_EXPIRY = -1
const NO_KEY = -2

export function emptyKeys(): PartitionKeys {
  return { live: '', filling: '', generations: new Map() }
}

export function emptyGeneration(partitions: number): Generation {
  return {
    checkpoint: BEFORE_LOG,
    fold: FOLD_VERSION,
    partitions,
    plants: new Map(),
    order: [],
    plantCount: 0,
    parked: new Map(),
    parkedCount: 0,
    voids: 0,
    mark: '',
  }
}

/** An independent copy. Claims and checkpoints are immutable and shared. */
export function copyKeys({ live, filling, generations }: PartitionKeys): PartitionKeys {
  const copies = new Map<string, Generation>()
  for (const [name, generation] of generations) {
    const { plants, order, parked } = generation
    copies.set(name, { ...generation, plants: new Map(plants), order: [...order], parked: new Map(parked) })
  }
  return { live, filling, generations: copies }
}

/** One Redis server: the keys of each partition. */
export type RedisServer = PartitionKeys[]

export const emptyServer = (): RedisServer => ALL.map(emptyKeys)
export const copyServer = (server: RedisServer): RedisServer => server.map(copyKeys)
export const keysOf = (server: RedisServer, partition: Partition) => server[partition] as PartitionKeys

/** meta.lua: a generation counts as absent if a failover has lost its plants or their order. */
export function wholeGeneration({ generations }: PartitionKeys, name: string): Generation | undefined {
  const generation = generations.get(name)
  if (generation === undefined || generation.plantCount === 0) return generation
  const { plants, order, plantCount } = generation
  return order.length === plantCount && plants.has(order[0] as PlantId) ? generation : undefined
}

function refuseNewer(generation: Generation | undefined): void {
  if (generation !== undefined && generation.fold > FOLD_VERSION) refuse('FOLD', String(generation.fold))
}

function refuseOtherCount(generation: Generation | undefined, partitions: number): void {
  if (generation !== undefined && generation.partitions !== partitions)
    refuse('PARTITIONS', String(generation.partitions), partitions)
}

type ApplyCall = {
  /** '' for the live generation. */
  generation: string
  partitions: number
  expected: Checkpoint
  next: Checkpoint
  freshGeneration: string
  records: readonly LogRecord[]
}

/** apply.lua: all refusals come before the first change. */
export function applyScript(keys: PartitionKeys, call: ApplyCall): ApplyResult | { is: 'gone' } {
  const { partitions, expected, next } = call
  let generation = wholeGeneration(keys, call.generation || keys.live)
  if (generation === undefined) {
    if (call.generation !== '') return { is: 'gone' }
    // A new generation gets the caller's partition count.
    if (expected.offset !== BEFORE_FIRST) return { is: 'stale', checkpoint: BEFORE_LOG }
    generation = beginLive(keys, call.freshGeneration, partitions)
  } else {
    refuseNewer(generation)
    refuseOtherCount(generation, partitions)
    if (generation.checkpoint.offset !== expected.offset) {
      return { is: 'stale', checkpoint: generation.checkpoint }
    }
  }
  generation.checkpoint = next
  generation.fold = FOLD_VERSION
  generation.partitions = partitions
  for (const record of call.records) take(generation, record)
  return { is: 'applied' }
}

/**
 * Creates a generation and points to it. Like Redis, a name that was used before (against the contract) brings its
 * old keys back.
 */
function beginLive(keys: PartitionKeys, freshGeneration: string, partitions: number): Generation {
  const generation = keys.generations.get(freshGeneration) ?? emptyGeneration(partitions)
  keys.generations.set(freshGeneration, generation)
  keys.live = freshGeneration
  return generation
}

function take(generation: Generation, { offset, claim, parked }: LogRecord): void {
  if (claim !== undefined) {
    const first = generation.plants.get(claim.id)
    if (first === undefined) {
      generation.plants.set(claim.id, claim)
      generation.order.push(claim.id)
      generation.plantCount++
    } else if (first.eventId !== claim.eventId) generation.voids++
  }
  if (parked !== undefined) {
    generation.parked.set(offset, parked)
    generation.parkedCount++
  }
}

/** look-up.lua: entries and checkpoint are read atomically. */
export function lookUpScript(keys: PartitionKeys, ids: readonly PlantId[]): PartitionLookUp {
  const { checkpoint, plants } = wholeGeneration(keys, keys.live) ?? emptyGeneration(0)
  return { checkpoint: checkpoint.offset, entries: ids.map((id) => plants.get(id)) }
}

/** list.lua: the claims, their total number and the checkpoint are read atomically. */
export function listScript(keys: PartitionKeys, { from, count }: Span): ListedSpan {
  const { checkpoint, plants, order } = wholeGeneration(keys, keys.live) ?? emptyGeneration(0)
  return {
    claims: order.slice(from, from + count).map((id) => plants.get(id) as Claim),
    plants: order.length,
    checkpoint: checkpoint.offset,
  }
}

/** checkpoint.lua: `generation` is the name in the pointer, even if that generation is gone; '' without a pointer. */
export function checkpointScript(keys: PartitionKeys, partitions: number): PartitionMeta {
  const generation = wholeGeneration(keys, keys.live) ?? emptyGeneration(partitions)
  refuseOtherCount(generation, partitions)
  refuseNewer(generation)
  const { checkpoint, plantCount, voids, parkedCount } = generation
  return { checkpoint, plants: plantCount, voids, parked: parkedCount, generation: keys.live }
}

/** begin.lua: does not resume a generation of an older fold version or another partition count. */
export function beginScript(keys: PartitionKeys, freshName: string, partitions: number): Generations.StartResult {
  const live = keys.generations.get(keys.live)
  const begun = wholeGeneration(keys, keys.filling)
  refuseNewer(live)
  refuseNewer(begun)
  refuseOtherCount(live, partitions)
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
export function markScript(keys: PartitionKeys, name: string, mark: string): Generations.MarkResult {
  const generation = wholeGeneration(keys, name)
  if (generation === undefined) return { is: 'gone' }
  if (keys.live === name) return { is: 'live' }
  generation.mark = mark
  return { is: 'marked' }
}

/** state.lua: one atomic read. Redis has no empty keys. */
export function stateScript(keys: PartitionKeys, requested: string): GenerationState {
  const name = requested || keys.live
  const generation = keys.generations.get(name)
  const { plants, order, parked } = generation ?? emptyGeneration(0)
  const sizes = [plants.size, order.length, parked.size]
  const expiries = [keys.live, keys.filling, generation, ...sizes].map((exists) => (exists ? NO_EXPIRY : NO_KEY))
  const texts = Object.values(textsOf(generation))
  return generationState([name, keys.live, keys.filling, ...texts, ...[...sizes, ...expiries].map(String)])
}

/** The fields of the meta. A count has no field before its first increment. */
export function textsOf(generation: Generation | undefined): GenerationState['texts'] {
  const text = (value: number | string | undefined) => String(value ?? '')
  const count = (value: number | undefined) => text(value || '')
  return {
    checkpoint: text(generation?.checkpoint.offset),
    event: text(generation?.checkpoint.eventId),
    fold: text(generation?.fold),
    partitions: text(generation?.partitions),
    plants: count(generation?.plantCount),
    voids: count(generation?.voids),
    parked: count(generation?.parkedCount),
    mark: text(generation?.mark),
  }
}

/** span.lua: a generation that is gone has an empty span. */
export function spanScript(keys: PartitionKeys, name: string, from: number, count: number): PackedSpan {
  const { order, plants } = keys.generations.get(name) ?? emptyGeneration(0)
  const ids = order.slice(from, from + count)
  const entries = ids.map((id) => {
    const claim = plants.get(id)
    return claim && encodeEntry(claim)
  })
  const lengths = entries.flatMap((entry) => (entry ? [entry.length >> 8, entry.length & 0xff] : [0xff, 0xff]))
  return {
    ids: Buffer.from(ids.join()),
    lengths: Buffer.from(lengths),
    entries: Buffer.concat(entries.filter((entry) => entry !== undefined)),
  }
}

/** switch.lua: all refusals come before the first change. */
export function switchScript(keys: PartitionKeys, call: Generations.SwitchCall): Generations.SwitchResult {
  const { generation: name, mark, expectedLive, verified } = call
  const generation = wholeGeneration(keys, name)
  if (generation === undefined) return { is: 'gone' }
  if (generation.mark !== mark) return { is: 'unmarked', mark: generation.mark }
  const { live } = keys
  if (live !== expectedLive) return { is: 'changed', live }
  const reached = generation.checkpoint.offset
  if (reached < verified) return { is: 'fellBack', checkpoint: reached }
  const old = keys.generations.get(live)
  const toReach = old === undefined ? BEFORE_FIRST : old.checkpoint.offset
  if (reached < toReach) return { is: 'behind', checkpoint: reached, live: toReach }
  refuseNewer(generation)
  refuseNewer(old)
  keys.live = name
  if (keys.filling === name) keys.filling = ''
  generation.mark = ''
  return { is: 'switched' }
}

/** drop.lua: counts only existing keys; Redis has no empty ones. */
export function dropScript(keys: PartitionKeys, name: string, abandon: boolean): Generations.DropResult {
  if (keys.live === name) return { is: 'live' }
  if (keys.filling === name && !abandon) return { is: 'filling' }
  if (keys.filling === name) keys.filling = ''
  const { meta, plants, order, parked } = stateScript(keys, name).ttlMs
  keys.generations.delete(name)
  return { is: 'dropped', keys: [meta, plants, order, parked].filter((ttl) => ttl !== NO_KEY).length }
}
