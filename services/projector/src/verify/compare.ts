import type { Offset, Partition } from '@plant-store/shared/plant/offset.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { type PlantId, parsePlantId } from '@plant-store/shared/plant/plant-id.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { FOLD_VERSION } from '@plant-store/shared/read-model/refusals.ts'
import type { GenerationState } from '@plant-store/shared/read-model/state.ts'
import { isIn, isParkedIn, type Slice } from './slice.ts'

/** What a generation is read with: entries, ids in log order and parked offsets, in bounded batches. */
export type GenerationReader = Pick<Generations, 'plants' | 'order' | 'parked'>

/** One way in which a generation is not the fold of the log. Texts, to be shown. */
export type Difference = {
  what: 'plant' | 'order' | 'parked' | 'count' | 'checkpoint' | 'fold version' | 'partitions' | 'expiry'
  partition: Partition
  /** The id, the offset or the name of what differs. */
  of: string
  expected: string
  found: string
}

/** The fold of a slice: its ids, up to the offset `end` at least. What lies beyond is left out on both sides. */
export type Compared = {
  partition: Partition
  generation: string
  fold: PartitionState
  slice: Slice
  upTo: Offset
  /** How many ids there were in log order then. */
  listed: number
  /** Told after each batch. */
  onRead?: () => void
}

export type Counts = { plants: number; voids: number; parked: number }

/** What to expect of the generation as a whole, at the offset up to which it is compared. */
export type Whole = { checkpoint: Checkpoint; counts: Counts; partitions: number }

/** More would tell nothing new. */
export const DIFFERENCES_MAX = 100
const NONE = 'none'

/**
 * What the entries, their order and what is parked have that a fold of the log has not, and the other way round; at
 * most 100. The generation may grow meanwhile: beyond `upTo` nothing is looked at.
 */
export async function compareWithFold(reader: GenerationReader, compared: Compared): Promise<Difference[]> {
  const differences: Difference[] = []
  const tell = (what: Difference['what'], of: string, expected = NONE, found = NONE) => {
    if (differences.length < DIFFERENCES_MAX)
      differences.push({ what, partition: compared.partition, of, expected, found })
  }
  await comparePlants(reader, compared, tell)
  await compareOrder(reader, compared, tell)
  await compareParked(reader, compared, tell)
  return differences
}

type Tell = (what: Difference['what'], of: string, expected?: string, found?: string) => void

async function comparePlants(reader: GenerationReader, compared: Compared, tell: Tell): Promise<void> {
  const { partition, generation, fold, slice, upTo, onRead } = compared
  const seen = new Set<PlantId>()
  for await (const batch of reader.plants(partition, generation)) {
    for (const { id, claim } of batch) {
      if (claim === undefined) tell('plant', id, 'an entry', 'bytes that are none')
      else if (claim.offset <= upTo && isIn(slice, claim.id)) {
        seen.add(claim.id)
        const expected = textOf(fold.plants.get(claim.id))
        if (textOf(claim) !== expected) tell('plant', id, expected, textOf(claim))
      }
    }
    onRead?.()
  }
  for (const [id, claim] of fold.plants) {
    // In log order: beyond this one all are.
    if (claim.offset > upTo) return
    if (!seen.has(id)) tell('plant', String(id), textOf(claim))
  }
}

async function compareOrder(reader: GenerationReader, compared: Compared, tell: Tell): Promise<void> {
  const { partition, generation, fold, slice, listed, onRead } = compared
  const expected = fold.plants.keys()
  let index = 0
  for await (const ids of reader.order(partition, generation)) {
    for (const text of ids) {
      if (index === listed) return
      const at = `index ${index++}`
      const id = parsePlantId(text)
      if (id !== undefined && !isIn(slice, id)) continue
      const next = expected.next().value
      // What follows is out of place, too, and would tell no more.
      if (next === undefined || text !== String(next)) return tell('order', at, next && String(next), text)
    }
    onRead?.()
  }
  if (index < listed) tell('count', 'ids in log order', String(listed), String(index))
}

async function compareParked(reader: GenerationReader, compared: Compared, tell: Tell): Promise<void> {
  const { partition, generation, fold, slice, upTo, onRead } = compared
  const seen = new Set<Offset>()
  for await (const batch of reader.parked(partition, generation)) {
    for (const [offset, reason] of batch) {
      if (offset > upTo || !isParkedIn(slice, offset)) continue
      seen.add(offset)
      const expected = fold.parked.get(offset)
      if (reason !== expected) tell('parked', `offset ${offset}`, String(expected ?? NONE), String(reason))
    }
    onRead?.()
  }
  for (const [offset, reason] of fold.parked) {
    if (offset <= upTo && !seen.has(offset)) tell('parked', `offset ${offset}`, String(reason))
  }
}

/** What a generation says of itself as a whole, read at the very checkpoint that is expected, and how its keys are kept. */
export function compareWhole(partition: Partition, expected: Whole, found: GenerationState): Difference[] {
  const { plants, voids, parked } = expected.counts
  const { held, msToLive } = found
  const compared: [Difference['what'], string, unknown, unknown][] = [
    ['checkpoint', 'checkpoint', atText(expected.checkpoint), atText(found.checkpoint)],
    ['fold version', 'fold', FOLD_VERSION, found.fold],
    ['partitions', 'partitions', expected.partitions, found.partitions],
    ['count', 'plants', plants, found.plants],
    ['count', 'voids', voids, found.voids],
    ['count', 'parked', parked, found.parked],
    ['count', 'entries', plants, held.plants],
    ['count', 'ids in log order', plants, held.order],
    ['count', 'offsets parked', parked, held.parked],
  ]
  const expiring = Object.entries(msToLive).filter(([, ms]) => ms >= 0)
  for (const [key, ms] of expiring) compared.push(['expiry', key, 'for ever', `${ms} ms`])
  return compared
    .map(([what, of, one, other]) => ({ what, partition, of, expected: String(one), found: String(other) }))
    .filter(({ expected: one, found: other }) => one !== other)
}

const atText = (checkpoint: Checkpoint | undefined) =>
  checkpoint && `offset ${checkpoint.offset}, event ${checkpoint.eventId || NONE}`

function textOf(claim: Claim | undefined): string {
  if (claim === undefined) return NONE
  const { eventId, offset, plant } = claim
  return `event ${eventId} at offset ${offset}: ${plant === undefined ? 'unreadable' : JSON.stringify([plant.name, plant.tag])}`
}
