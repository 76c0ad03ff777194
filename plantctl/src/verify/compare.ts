import { isDeepStrictEqual } from 'node:util'
import { type PlantId, parsePlantId, textsOf } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { PackedSpan } from '@plant-store/shared/protocol/packed-claims.ts'
import type { Generations, StoredPlant } from '@plant-store/shared/read-model/generations.ts'
import type { GenerationState } from '@plant-store/shared/read-model/state.ts'
import type { Counts, Subject } from './difference.ts'
import { type Folded, isIn, isParkedIn, type Slice } from './slice.ts'

export type GenerationReader = Pick<Generations, 'state' | 'span' | 'order' | 'entries' | 'plants' | 'parked'>

/** A slice of a generation, and the fold to compare it with. */
export type Comparison = {
  partition: Partition
  generation: string
  slice: Slice
  /** The fold of this slice, at least up to offset `upTo`. Later records are left out on both sides. */
  fold: Folded
  upTo: Offset
  /** The counts of the fold at `upTo`. */
  counts: Counts
  /** The state of the generation at `upTo`. */
  state: GenerationState
  report(difference: Subject): void
  /** Called after each batch. */
  onRead?: (() => void) | undefined
}

/** The plants and parked records that the generation has of a slice, up to `upTo`. */
export type StoredCounts = { plants: number; parked: number }

/** Spans requested at once: Redis packs the next ones while one is compared. */
const SPANS_IN_FLIGHT = 3

/**
 * Reports every difference between a generation and the fold of the log: in the entries, their order, and the parked
 * records. The generation may grow during the comparison. The reports are worthless if it is dropped or falls back in
 * between: check its state afterwards.
 *
 * The plants are compared in the order of the generation: decoded, or if the slice is the whole fold and the sizes are
 * right, byte for byte until something differs. All entries are scanned only when there may be others than the plants'.
 */
export async function compareWithFold(reader: GenerationReader, comparison: Comparison): Promise<StoredCounts> {
  const plants = await comparePlants(reader, comparison)
  const parked = await compareParked(reader, comparison)
  const others = (await hasOthers(reader, comparison, plants)) ? await reportOthers(reader, comparison) : 0
  return { plants: plants + others, parked }
}

/** Counts the plants before the first span that differs from the fold. */
async function countEqual(
  reader: GenerationReader,
  { partition, generation, fold: { plants }, counts, onRead }: Comparison,
): Promise<number> {
  const { plantsPerSpan } = plants
  const length = counts.plants
  const reading: Promise<PackedSpan>[] = []
  let next = 0
  try {
    // The first span is read even of an empty fold.
    for (let from = 0; from === 0 || from < length; from += plantsPerSpan) {
      for (; (next === 0 || next < length) && reading.length < SPANS_IN_FLIGHT; next += plantsPerSpan) {
        const span = reader.span(partition, generation, next, Math.min(plantsPerSpan, Math.max(length - next, 1)))
        // Its error is thrown when its turn comes.
        span.catch(() => {})
        reading.push(span)
      }
      const stored = await (reading.shift() as Promise<PackedSpan>)
      if (!isDeepStrictEqual(stored, plants.span(from, length))) return from
      onRead?.()
    }
    return length
  } finally {
    // So that a retry does not share Redis with them.
    await Promise.allSettled(reading)
  }
}

/**
 * Compares the plants of the fold, in the order of the generation, with their entries; returns how many have an entry.
 * A pair in the wrong order is reported once, by its second id, which is compared with the id before it. For an id of
 * another slice, the offset in its entry counts: if that is wrong and later, the next id is reported, too.
 */
async function comparePlants(reader: GenerationReader, comparison: Comparison): Promise<number> {
  const { partition, generation, fold, slice, upTo, counts, state, report, onRead } = comparison
  const { plants } = fold
  const { plantsPerSpan } = plants
  // With another size the generation differs in any case.
  const hasSizes = state.sizes.plants === counts.plants && state.sizes.order === counts.plants
  const isByBytes = slice.count === 1 && hasSizes
  const equal = isByBytes ? await countEqual(reader, comparison) : 0
  if (isByBytes && equal === counts.plants) return equal
  let before = equal > 0 ? plants.claimAt(equal - 1) : undefined
  const equalUpTo = before?.offset ?? BEFORE_FIRST
  const seen = new Set<PlantId>()
  const isSeen = ({ id, offset }: Claim) => offset <= equalUpTo || seen.has(id)
  let entries = equal

  function compareEntry(expected: Claim, stored: StoredPlant | undefined): void {
    const id = String(expected.id)
    if (stored !== undefined) entries++
    const found = stored?.claim
    if (found === undefined) {
      const what = stored === undefined ? 'entryMissing' : 'entryUndecodable'
      report({ what, id, expected: formatClaim(expected) })
      return
    }
    for (const difference of differencesOf(expected, found)) report({ what: 'entryChanged', id, ...difference })
  }

  async function entriesOf(ids: readonly string[]): Promise<Map<string, StoredPlant>> {
    const found = ids.length === 0 ? [] : await reader.entries(partition, generation, ids)
    return new Map(found.map((one) => [one.id, one]))
  }

  for (let from = equal; from < state.sizes.order || from === 0; from += plantsPerSpan) {
    const count = Math.min(plantsPerSpan, state.sizes.order - from)
    const ids = await reader.order(partition, generation, from, count)
    const stored = await entriesOf(ids)
    for (const text of ids) {
      const id = parsePlantId(text)
      if (!isTextIn(slice, id)) {
        const other = stored.get(text)?.claim
        if (other !== undefined && other.offset <= upTo) before = other
        continue
      }
      const claim = id === undefined ? undefined : plants.get(id)
      if (claim === undefined || claim.offset > upTo) report({ what: 'orderExtra', id: text })
      else if (isSeen(claim)) report({ what: 'orderRepeated', id: text })
      else {
        if (before !== undefined && before.offset > claim.offset)
          report({ what: 'orderMisplaced', id: text, after: String(before.id) })
        seen.add(claim.id)
        before = claim
        compareEntry(claim, stored.get(text))
      }
    }
    onRead?.()
  }
  if (equal + seen.size === counts.plants) return entries

  const missing: Claim[] = []
  for (const [, claim] of plants) {
    // The fold is in log order, so all others are later, too.
    if (claim.offset > upTo) break
    if (!isSeen(claim)) missing.push(claim)
  }
  for (let from = 0; from < missing.length; from += plantsPerSpan) {
    const batch = missing.slice(from, from + plantsPerSpan)
    const stored = await entriesOf(batch.map(({ id }) => String(id)))
    for (const claim of batch) {
      report({ what: 'orderMissing', id: String(claim.id) })
      compareEntry(claim, stored.get(String(claim.id)))
    }
    onRead?.()
  }
  return entries
}

type FieldDifference = { field: string; expected: string | null; found: string | null }

/** The fields in which two claims of the same id differ. */
export function differencesOf(expected: Claim, found: Claim): FieldDifference[] {
  const [one, other] = [fieldsOf(expected), fieldsOf(found)]
  const differences = Object.keys({ ...one, ...other })
    .map((field) => ({ field, expected: one[field] ?? null, found: other[field] ?? null }))
    .filter((difference) => difference.expected !== difference.found)
  // If only one of them is readable, the fields of the plant differ for that reason.
  const unreadable = differences.findIndex(({ field }) => field === 'readable')
  return unreadable === -1 ? differences : differences.slice(0, unreadable + 1)
}

/** The fields of an entry, and whether it can be read at all. */
function fieldsOf({ eventId, offset, plant }: Claim): Record<string, string> {
  const known = { eventId, offset: String(offset), readable: plant === undefined ? 'no' : 'yes' }
  return plant === undefined ? known : { ...known, ...textsOf(plant) }
}

/** Checks whether the generation may have entries besides the plants'. */
async function hasOthers(
  reader: GenerationReader,
  { partition, generation, slice, state }: Comparison,
  entries: number,
): Promise<boolean> {
  if (slice.count > 1 || entries !== state.sizes.plants) return true
  // Entries that were added during the comparison without being counted.
  const after = await reader.state(partition, generation)
  return after.sizes.plants !== after.plants
}

async function reportOthers(reader: GenerationReader, comparison: Comparison): Promise<number> {
  const { partition, generation, fold, slice, report, onRead } = comparison
  const isLater = laterThan(reader, comparison)
  const others = new Set<string>()
  for await (const batch of reader.plants(partition, generation)) {
    for (const { id: text, claim } of batch) {
      const id = parsePlantId(text)
      const isKnown = others.has(text) || (id !== undefined && fold.plants.get(id) !== undefined)
      if (isKnown || !isTextIn(slice, id) || (await isLater(claim?.offset))) continue
      others.add(text)
      report({ what: 'entryExtra', id: text, found: formatClaim(claim) })
    }
    onRead?.()
  }
  return others.size
}

async function compareParked(reader: GenerationReader, comparison: Comparison): Promise<number> {
  const { partition, generation, fold, slice, upTo, report } = comparison
  const isLater = laterThan(reader, comparison)
  const seen = new Set<Offset>()
  const extra = new Set<string>()
  for await (const batch of reader.parked(partition, generation)) {
    for (const [text, found] of batch) {
      const offset = parseOffset(text)
      if (offset === undefined ? slice.index > 0 : !isParkedIn(slice, offset)) continue
      const reason = offset === undefined ? undefined : fold.parked.get(offset)
      if (offset !== undefined && reason !== undefined) {
        if (offset > upTo) continue
        if (!seen.has(offset) && found !== String(reason))
          report({ what: 'parkedReason', offset: text, expected: String(reason), found })
        seen.add(offset)
      } else if (!extra.has(text) && !(await isLater(offset))) {
        extra.add(text)
        report({ what: 'parkedExtra', offset: text, found })
      }
    }
    comparison.onRead?.()
  }
  for (const [offset, reason] of fold.parked) {
    if (offset > upTo) break
    if (!seen.has(offset)) report({ what: 'parkedMissing', offset: String(offset), expected: String(reason) })
  }
  return seen.size + extra.size
}

/**
 * Returns a check for entries that were added after the generation had passed `upTo`. The checkpoint has passed the
 * offset of such an entry, too: it is read again whenever an offset is beyond the last known one.
 */
function laterThan(
  reader: GenerationReader,
  { partition, generation, upTo }: Comparison,
): (offset: Offset | undefined) => Promise<boolean> {
  let reach = upTo
  return async (offset) => {
    if (offset === undefined || offset <= upTo) return false
    if (offset > reach) reach = (await reader.state(partition, generation)).checkpoint?.offset ?? upTo
    return offset <= reach
  }
}

/** An invalid id is reported with the first slice. */
function isTextIn(slice: Slice, id: PlantId | undefined): boolean {
  return id === undefined ? slice.index === 0 : isIn(slice, id)
}

function parseOffset(text: string): Offset | undefined {
  const offset = Number(text)
  return Number.isSafeInteger(offset) && offset >= 0 && String(offset) === text ? (offset as Offset) : undefined
}

export function formatClaim(claim: Claim | undefined): string {
  if (claim === undefined) return 'an invalid entry'
  const { offset, eventId, plant } = claim
  return JSON.stringify({ offset, event: eventId, ...(plant === undefined ? { unreadable: true } : textsOf(plant)) })
}
