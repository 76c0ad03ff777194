import type { EventId } from '../plant/event-id.ts'
import type { PlantId } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { after, type Offset } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from './checkpoint.ts'

/** The effect of a claim: it creates its plant, repeats that creation, or is void. */
export type Ruling = 'created' | 'repeated' | 'void'

/** The rule: the first claim of an id wins. The same event twice (a producer's retry) is one creation. */
export function firstWins(first: { eventId: EventId } | undefined, claim: { eventId: EventId }): Ruling {
  if (first === undefined) return 'created'
  return first.eventId === claim.eventId ? 'repeated' : 'void'
}

/** The first claim of each id, in log order; the subset of a Map that the fold uses. */
export type FirstClaims = Iterable<[PlantId, Claim]> & {
  readonly size: number
  get(id: PlantId): Claim | undefined
  set(id: PlantId, claim: Claim): unknown
}

/** The fold of one partition. */
export type PartitionState<Plants extends FirstClaims = Map<PlantId, Claim>> = {
  checkpoint: Checkpoint
  plants: Plants
  parked: Map<Offset, number>
  voids: number
}

export function emptyPartition(): PartitionState {
  return emptyPartitionOf(new Map())
}

/** An empty partition that stores its plants in `plants`. */
export function emptyPartitionOf<Plants extends FirstClaims>(plants: Plants): PartitionState<Plants> {
  return { checkpoint: BEFORE_LOG, plants, parked: new Map(), voids: 0 }
}

/** Folds records, in log order and each offset once, into the state of their partition. */
export function fold<State extends PartitionState<FirstClaims>>(
  state: State,
  records: readonly LogRecord[],
  rule = firstWins,
): State {
  for (const { offset, claim, parked } of records) {
    if (offset < after(state.checkpoint.offset)) throw new RangeError(`offset ${offset} was folded before`)
    if (parked !== undefined) state.parked.set(offset, parked)
    if (claim !== undefined) {
      const ruling = rule(state.plants.get(claim.id), claim)
      if (ruling === 'created') state.plants.set(claim.id, claim)
      if (ruling === 'void') state.voids++
    }
    state.checkpoint = { offset, eventId: claim?.eventId ?? '' }
  }
  return state
}
