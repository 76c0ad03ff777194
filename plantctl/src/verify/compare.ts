import { type PlantId, parsePlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { FirstClaims, PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import type { EntryField, GenerationDifference } from './difference.ts'
import { isIn, isParkedIn, type Slice } from './slice.ts'

/** What a generation is read with, in bounded batches. */
export type GenerationReader = Pick<Generations, 'state' | 'plants' | 'entries' | 'order' | 'parked'>

/** A slice of a generation, and the fold that it is held to. */
export type Compared = {
  partition: Partition
  generation: string
  /** The fold of this slice, up to the offset `upTo` at least. What lies beyond is left out on both sides. */
  fold: Pick<PartitionState<FirstClaims>, 'plants' | 'parked'>
  slice: Slice
  upTo: Offset
  /** How many ids the generation had in order when it had come up to there. */
  listed: number
  tell(difference: GenerationDifference): void
  /** Told after each batch. */
  onRead?: () => void
}

/** How much of this slice the generation has, up to `upTo`. */
export type Held = { plants: number; parked: number }

/**
 * Tells what the entries, their order and what is parked have that the fold of the log has not, the other way round,
 * and what is different. The generation may grow meanwhile. If it is dropped or falls back meanwhile, all that
 * is told is worthless: look at its state afterwards.
 */
export async function compareWithFold(reader: GenerationReader, compared: Compared): Promise<Held> {
  const plants = await compareEntries(reader, compared)
  await compareOrder(reader, compared)
  return { plants, parked: await compareParked(reader, compared) }
}

async function compareEntries(reader: GenerationReader, compared: Compared): Promise<number> {
  const { partition, generation, fold, slice, upTo, tell } = compared
  const isLater = laterThan(reader, compared)
  const seen = new Set<PlantId>()
  const extra = new Set<string>()
  for await (const batch of reader.plants(partition, generation)) {
    for (const { id: text, claim } of batch) {
      const id = parsePlantId(text)
      if (!isTextIn(slice, id)) continue
      const expected = id === undefined ? undefined : fold.plants.get(id)
      if (id !== undefined && expected !== undefined && expected.offset <= upTo) {
        if (!seen.has(id)) compareEntry(text, expected, claim, tell)
        seen.add(id)
      } else if (!extra.has(text) && expected === undefined && !(await isLater(claim?.offset))) {
        extra.add(text)
        tell({ what: 'entryExtra', id: text, found: claimInWords(claim) })
      }
    }
    compared.onRead?.()
  }
  for (const [id, claim] of fold.plants) {
    // In log order: beyond this one all are.
    if (claim.offset > upTo) break
    if (!seen.has(id)) tell({ what: 'entryMissing', id: String(id), expected: claimInWords(claim) })
  }
  return seen.size + extra.size
}

function compareEntry(id: string, expected: Claim, found: Claim | undefined, tell: Compared['tell']): void {
  if (found === undefined) {
    tell({ what: 'entryUndecodable', id, expected: claimInWords(expected) })
    return
  }
  const [wanted, had] = [fieldsOf(expected), fieldsOf(found)]
  // Whether it can be read says all of name and tag, if that differs.
  const last = wanted.readable === had.readable ? FIELDS.length : FIELDS.indexOf('readable') + 1
  for (const field of FIELDS.slice(0, last)) {
    if (wanted[field] !== had[field])
      tell({ what: 'entryChanged', id, field, expected: wanted[field], found: had[field] })
  }
}

const FIELDS: readonly EntryField[] = ['eventId', 'offset', 'readable', 'name', 'tag']

function fieldsOf({ eventId, offset, plant }: Claim): Record<EntryField, string | null> {
  return {
    ...{ eventId, offset: String(offset), readable: plant === undefined ? 'no' : 'yes' },
    ...{ name: plant?.name ?? null, tag: plant?.tag ?? null },
  }
}

/**
 * A pair that stands the wrong way round is told once, by its second id. That is compared with the one before it: of
 * another slice only the entry in the generation tells how early it was created.
 */
async function compareOrder(reader: GenerationReader, compared: Compared): Promise<void> {
  const { partition, generation, fold, slice, upTo, tell } = compared
  const seen = new Set<PlantId>()
  let before: { id: string; offset: Offset } | undefined
  for await (const ids of reader.order(partition, generation, compared.listed)) {
    const offsets = await otherOffsets(reader, compared, ids)
    for (const text of ids) {
      const id = parsePlantId(text)
      if (!isTextIn(slice, id)) {
        const offset = offsets.get(text)
        if (offset !== undefined) before = { id: text, offset }
        continue
      }
      const claim = id === undefined ? undefined : fold.plants.get(id)
      if (claim === undefined || claim.offset > upTo) tell({ what: 'orderExtra', id: text })
      else if (seen.has(claim.id)) tell({ what: 'orderRepeated', id: text })
      else {
        if (before !== undefined && before.offset > claim.offset)
          tell({ what: 'orderMisplaced', id: text, after: before.id })
        seen.add(claim.id)
        before = { id: text, offset: claim.offset }
      }
    }
    compared.onRead?.()
  }
  for (const [id, { offset }] of fold.plants) {
    if (offset > upTo) break
    if (!seen.has(id)) tell({ what: 'orderMissing', id: String(id) })
  }
}

/** Where the ids of other slices were created, as the generation has it; not if that can't be. */
async function otherOffsets(
  reader: GenerationReader,
  { partition, generation, slice, upTo }: Compared,
  ids: readonly string[],
): Promise<Map<string, Offset>> {
  const others = ids.filter((text) => !isTextIn(slice, parsePlantId(text)))
  const offsets = new Map<string, Offset>()
  if (others.length === 0) return offsets
  for (const { id, claim } of await reader.entries(partition, generation, others)) {
    if (claim !== undefined && claim.offset <= upTo) offsets.set(id, claim.offset)
  }
  return offsets
}

async function compareParked(reader: GenerationReader, compared: Compared): Promise<number> {
  const { partition, generation, fold, slice, upTo, tell } = compared
  const isLater = laterThan(reader, compared)
  const seen = new Set<Offset>()
  const extra = new Set<string>()
  for await (const batch of reader.parked(partition, generation)) {
    for (const [text, found] of batch) {
      const offset = parseOffset(text)
      if (offset === undefined ? slice.index > 0 : !isParkedIn(slice, offset)) continue
      const reason = offset === undefined ? undefined : fold.parked.get(offset)
      if (offset !== undefined && offset <= upTo && reason !== undefined) {
        if (!seen.has(offset) && found !== String(reason))
          tell({ what: 'parkedReason', offset: text, expected: String(reason), found })
        seen.add(offset)
      } else if (!extra.has(text) && !(await isLater(offset))) {
        extra.add(text)
        tell({ what: 'parkedExtra', offset: text, found })
      }
    }
    compared.onRead?.()
  }
  for (const [offset, reason] of fold.parked) {
    if (offset > upTo) break
    if (!seen.has(offset)) tell({ what: 'parkedMissing', offset: String(offset), expected: String(reason) })
  }
  return seen.size + extra.size
}

/**
 * Whether what was read came into the generation after it had passed `upTo`. Then its checkpoint has passed that
 * offset, too; for that it is asked again, each time something lies further than was known.
 */
function laterThan(
  reader: GenerationReader,
  { partition, generation, upTo }: Compared,
): (offset: Offset | undefined) => Promise<boolean> {
  let reach = upTo
  return async (offset) => {
    if (offset === undefined || offset <= upTo) return false
    if (offset > reach) reach = (await reader.state(partition, generation)).checkpoint?.offset ?? upTo
    return offset <= reach
  }
}

/** What is no id at all is told with the first slice. */
function isTextIn(slice: Slice, id: PlantId | undefined): boolean {
  return id === undefined ? slice.index === 0 : isIn(slice, id)
}

function parseOffset(text: string): Offset | undefined {
  const offset = Number(text)
  return Number.isSafeInteger(offset) && offset >= 0 && String(offset) === text
    ? (offset as Offset)
    : undefined
}

function claimInWords(claim: Claim | undefined): string {
  if (claim === undefined) return 'bytes that are no entry'
  const { offset, eventId, plant } = claim
  return JSON.stringify({ offset, event: eventId, ...(plant ?? { unreadable: true }) })
}
