import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { ListedSpan, Span } from '@plant-store/shared/protocol/list.ts'
import type { ApplyResult } from '@plant-store/shared/read-model/apply.ts'
import type { PartitionLookUp, PartitionMeta } from '@plant-store/shared/read-model/read-model.ts'
import { refuse } from '@plant-store/shared/read-model/state.ts'

// A model of the serving scripts of the read model (apply.lua, look-up.lua, list.lua, checkpoint.lua) on one partition:
// plain functions over plain data. generation-scripts.ts models the scripts of a rebuild. A test compares the model
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

type ApplyOutcome = ApplyResult | { is: 'gone' }

const APPLIED: ApplyOutcome = Object.freeze({ is: 'applied' })
const GONE: ApplyOutcome = Object.freeze({ is: 'gone' })
const STALE_AT_START: ApplyOutcome = Object.freeze({ is: 'stale', checkpoint: BEFORE_LOG })

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
export type RedisServer = { partitions: PartitionKeys[] }

export function emptyServer(partitions: number): RedisServer {
  return { partitions: Array.from({ length: partitions }, emptyKeys) }
}

export function copyServer({ partitions }: RedisServer): RedisServer {
  return { partitions: partitions.map(copyKeys) }
}

/** False if a failover has lost the plants or their order: the first plant in the order is then missing. */
function isWhole({ plants, order, plantCount }: Generation): boolean {
  return plantCount === 0 || (order.length === plantCount && plants.has(order[0] as PlantId))
}

/** meta.lua: a generation that is not whole counts as absent. */
export function wholeGeneration({ generations }: PartitionKeys, name: string): Generation | undefined {
  const generation = generations.get(name)
  return generation !== undefined && isWhole(generation) ? generation : undefined
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
export function applyScript(keys: PartitionKeys, call: ApplyCall): ApplyOutcome {
  const { partitions, expected, next } = call
  let generation = wholeGeneration(keys, call.generation || keys.live)
  if (generation === undefined) {
    if (call.generation !== '') return GONE
    // A new generation gets the caller's partition count.
    if (expected.offset !== BEFORE_FIRST) return STALE_AT_START
    generation = beginLive(keys, call.freshGeneration, partitions)
  } else {
    if (generation.fold > FOLD_VERSION) refuse('FOLD', String(generation.fold))
    if (generation.partitions !== partitions) refuse('PARTITIONS', String(generation.partitions), partitions)
    if (generation.checkpoint.offset !== expected.offset) {
      return { is: 'stale', checkpoint: generation.checkpoint }
    }
  }
  generation.checkpoint = next
  generation.fold = FOLD_VERSION
  generation.partitions = partitions
  for (const record of call.records) take(generation, record)
  return APPLIED
}

/**
 * Creates a generation and points to it. Like Redis, a name that was used before (against the contract) brings its
 * old keys back.
 */
function beginLive(keys: PartitionKeys, freshGeneration: string, partitions: number): Generation {
  let generation = keys.generations.get(freshGeneration)
  if (generation === undefined) {
    generation = emptyGeneration(partitions)
    keys.generations.set(freshGeneration, generation)
  }
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
  const generation = wholeGeneration(keys, keys.live)
  const entries = ids.map((id) => generation?.plants.get(id))
  return { checkpoint: generation === undefined ? BEFORE_FIRST : generation.checkpoint.offset, entries }
}

/** list.lua: the claims, their total number and the checkpoint are read atomically. */
export function listScript(keys: PartitionKeys, { from, count }: Span): ListedSpan {
  const generation = wholeGeneration(keys, keys.live)
  if (generation === undefined) return { claims: [], plants: 0, checkpoint: BEFORE_FIRST }
  const { checkpoint, plants, order } = generation
  return {
    claims: order.slice(from, from + count).map((id) => plants.get(id) as Claim),
    plants: order.length,
    checkpoint: checkpoint.offset,
  }
}

/** checkpoint.lua: `generation` is the name in the pointer, even if that generation is gone; '' without a pointer. */
export function checkpointScript(keys: PartitionKeys, partitions: number): PartitionMeta {
  const generation = wholeGeneration(keys, keys.live)
  if (generation === undefined) return { checkpoint: BEFORE_LOG, plants: 0, voids: 0, parked: 0, generation: keys.live }
  const { fold, partitions: found, checkpoint, plantCount, voids, parkedCount } = generation
  if (found !== partitions) refuse('PARTITIONS', String(found), partitions)
  if (fold > FOLD_VERSION) refuse('FOLD', String(fold))
  return { checkpoint, plants: plantCount, voids, parked: parkedCount, generation: keys.live }
}
