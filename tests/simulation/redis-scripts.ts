import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { ListedSpan, Span } from '@plant-store/shared/protocol/list.ts'
import type { ApplyCall } from '@plant-store/shared/read-model/apply.ts'
import type { PartitionLookUp, PartitionMeta } from '@plant-store/shared/read-model/look-up.ts'

// The scripts of the read model that serve (apply.lua, look-up.lua, list.lua, checkpoint.lua) on one partition, as plain
// functions over plain data: what a simulation of the product has for its Redis; generation-scripts.ts has those of a
// rebuild. A test holds them to the real scripts on a real Redis, call by call and key by key. They share no code with the product: who is
// first is written here once more, so that a simulation can judge the product's own rule.

/**
 * All that Redis holds under the name of a generation. Its keys come and go together: a script's writes are
 * replicated as one transaction and a drop is one UNLINK, so no failover parts them.
 */
export type Generation = {
  checkpoint: Checkpoint
  fold: number
  partitions: number
  plants: Map<PlantId, Claim>
  order: PlantId[]
  parked: Map<Offset, number>
  /** How often something was parked. More than `parked` has offsets when one was parked again. */
  parkedCount: number
  voids: number
  mark: string | undefined
}

/** What Redis holds of a partition: the pointers, and what they may name. */
export type PartitionKeys = {
  live: string | undefined
  filling: string | undefined
  generations: Map<string, Generation>
}

export type ApplyOutcome =
  | { readonly is: 'OK' }
  | { readonly is: 'STALE'; readonly checkpoint: Checkpoint }
  | { readonly is: 'GONE' }
  | { readonly is: 'FOLD'; readonly version: number }
  | { readonly is: 'PARTITIONS'; readonly count: number }

/** What checkpoint.lua tells; `partitions` and `fold` are undefined when there is no generation. */
export type StoredMeta = PartitionMeta & { partitions: number | undefined; fold: number | undefined }

export const START: Checkpoint = Object.freeze({ offset: BEFORE_FIRST, eventId: '' })
const OK: ApplyOutcome = Object.freeze({ is: 'OK' })
const GONE: ApplyOutcome = Object.freeze({ is: 'GONE' })
const STALE_AT_START: ApplyOutcome = Object.freeze({ is: 'STALE', checkpoint: START })

export function emptyKeys(): PartitionKeys {
  return { live: undefined, filling: undefined, generations: new Map() }
}

export function emptyGeneration(fold: number, partitions: number): Generation {
  return {
    checkpoint: START,
    fold,
    partitions,
    plants: new Map(),
    order: [],
    parked: new Map(),
    parkedCount: 0,
    voids: 0,
    mark: undefined,
  }
}

/** The same keys, to go their own way. Claims and checkpoints never change and are shared. */
export function copyKeys({ live, filling, generations }: PartitionKeys): PartitionKeys {
  const copies = new Map<string, Generation>()
  for (const [name, generation] of generations) {
    const { checkpoint, fold, partitions, plants, order, parked, parkedCount, voids, mark } = generation
    copies.set(name, {
      checkpoint,
      fold,
      partitions,
      plants: new Map(plants),
      order: order.slice(),
      parked: new Map(parked),
      parkedCount,
      voids,
      mark,
    })
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

/** apply.lua: all refusals come before the first change. */
export function applyScript(keys: PartitionKeys, call: ApplyCall): ApplyOutcome {
  const { foldVersion, partitions, expected, next } = call
  const name = call.generation === '' ? keys.live : call.generation
  let generation = name === undefined ? undefined : keys.generations.get(name)
  if (generation === undefined) {
    if (call.generation !== '') return GONE
    // A generation yet to be made has the caller's own fold version and partition count.
    if (expected.offset !== BEFORE_FIRST) return STALE_AT_START
    generation = beginLive(keys, call)
  } else {
    if (generation.fold > foldVersion) return { is: 'FOLD', version: generation.fold }
    if (generation.partitions !== partitions) return { is: 'PARTITIONS', count: generation.partitions }
    if (generation.checkpoint.offset !== expected.offset) {
      return { is: 'STALE', checkpoint: generation.checkpoint }
    }
  }
  generation.checkpoint = next
  generation.fold = foldVersion
  generation.partitions = partitions
  for (const record of call.records) take(generation, record)
  return OK
}

/**
 * Makes a generation and points to it. A name that was used before, against the contract, brings back what
 * lies under it, as in Redis.
 */
function beginLive(keys: PartitionKeys, { freshGeneration, foldVersion, partitions }: ApplyCall): Generation {
  let generation = keys.generations.get(freshGeneration)
  if (generation === undefined) {
    generation = emptyGeneration(foldVersion, partitions)
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
    } else if (first.eventId !== claim.eventId) generation.voids++
  }
  if (parked !== undefined) {
    generation.parked.set(offset, parked)
    generation.parkedCount++
  }
}

/** look-up.lua: the answer to each id and the checkpoint belong together. */
export function lookUpScript({ live, generations }: PartitionKeys, ids: readonly PlantId[]): PartitionLookUp {
  const generation = live === undefined ? undefined : generations.get(live)
  const entries = ids.map((id) => generation?.plants.get(id))
  return { checkpoint: generation === undefined ? BEFORE_FIRST : generation.checkpoint.offset, entries }
}

/** list.lua: the claims, how many there are in all, and the checkpoint belong together. */
export function listScript({ live, generations }: PartitionKeys, { from, count }: Span): ListedSpan {
  const generation = live === undefined ? undefined : generations.get(live)
  if (generation === undefined) return { claims: [], plants: 0, checkpoint: BEFORE_FIRST }
  const { checkpoint, plants, order } = generation
  return {
    claims: order.slice(from, from + count).map((id) => plants.get(id) as Claim),
    plants: order.length,
    checkpoint: checkpoint.offset,
  }
}

/** checkpoint.lua: `generation` is what the pointer names, also when nothing is left of it, and '' without a pointer. */
export function checkpointScript({ live, generations }: PartitionKeys): StoredMeta {
  const generation = live === undefined ? undefined : generations.get(live)
  return {
    checkpoint: generation === undefined ? START : generation.checkpoint,
    partitions: generation?.partitions,
    fold: generation?.fold,
    plants: generation === undefined ? 0 : generation.plants.size,
    voids: generation === undefined ? 0 : generation.voids,
    parked: generation === undefined ? 0 : generation.parkedCount,
    generation: live ?? '',
  }
}
