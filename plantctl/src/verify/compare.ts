import { PLANT_FIELDS, type PlantId, parsePlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { FirstClaims, PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import type { EntryField, GenerationDifference } from './difference.ts'
import { isIn, isParkedIn, type Slice } from './slice.ts'

/** Reads a generation in bounded batches. */
export type GenerationReader = Pick<Generations, 'state' | 'plants' | 'entries' | 'order' | 'parked'>

/** A slice of a generation, and the fold to compare it with. */
export type Comparison = {
  partition: Partition
  generation: string
  /** The fold of this slice, at least up to offset `upTo`. Later records are left out on both sides. */
  fold: Pick<PartitionState<FirstClaims>, 'plants' | 'parked'>
  slice: Slice
  upTo: Offset
  /** The length of the generation's order at `upTo`. */
  orderLength: number
  report(difference: GenerationDifference): void
  /** Called after each batch. */
  onRead?: () => void
}

/** The plants and parked records that the generation has of a slice, up to `upTo`. */
export type StoredCounts = { plants: number; parked: number }

/**
 * Reports every difference between a generation and the fold of the log: in the entries, their order, and the parked
 * records. The generation may grow during the comparison. The reports are worthless if it is dropped or falls back in
 * between: check its state afterwards.
 */
export async function compareWithFold(reader: GenerationReader, comparison: Comparison): Promise<StoredCounts> {
  const plants = await compareEntries(reader, comparison)
  await compareOrder(reader, comparison)
  return { plants, parked: await compareParked(reader, comparison) }
}

async function compareEntries(reader: GenerationReader, comparison: Comparison): Promise<number> {
  const { partition, generation, fold, slice, upTo, report } = comparison
  const isLater = laterThan(reader, comparison)
  const seen = new Set<PlantId>()
  const extra = new Set<string>()
  for await (const batch of reader.plants(partition, generation)) {
    for (const { id: text, claim } of batch) {
      const id = parsePlantId(text)
      if (!isTextIn(slice, id)) continue
      const expected = id === undefined ? undefined : fold.plants.get(id)
      if (id !== undefined && expected !== undefined && expected.offset <= upTo) {
        if (!seen.has(id)) compareEntry(text, expected, claim, report)
        seen.add(id)
      } else if (!extra.has(text) && expected === undefined && !(await isLater(claim?.offset))) {
        extra.add(text)
        report({ what: 'entryExtra', id: text, found: formatClaim(claim) })
      }
    }
    comparison.onRead?.()
  }
  for (const [id, claim] of fold.plants) {
    // The fold is in log order, so all others are later, too.
    if (claim.offset > upTo) break
    if (!seen.has(id)) report({ what: 'entryMissing', id: String(id), expected: formatClaim(claim) })
  }
  return seen.size + extra.size
}

function compareEntry(id: string, expected: Claim, found: Claim | undefined, report: Comparison['report']): void {
  if (found === undefined) {
    report({ what: 'entryUndecodable', id, expected: formatClaim(expected) })
    return
  }
  for (const difference of differencesOf(expected, found)) report({ what: 'entryChanged', id, ...difference })
}

type FieldDifference = { field: EntryField; expected: string | null; found: string | null }

/** The fields in which two claims of the same id differ. */
export function differencesOf(expected: Claim, found: Claim): FieldDifference[] {
  const differences = FIELDS.map((field) => ({
    ...{ field, expected: fieldOf(expected, field), found: fieldOf(found, field) },
  })).filter((one) => one.expected !== one.found)
  // If only one of them is readable, the fields of the plant differ for that reason.
  const unreadable = differences.findIndex(({ field }) => field === 'readable')
  return unreadable === -1 ? differences : differences.slice(0, unreadable + 1)
}

const FIELDS: readonly EntryField[] = ['eventId', 'offset', 'readable', ...PLANT_FIELDS]

function fieldOf({ eventId, offset, plant }: Claim, field: EntryField): string | null {
  if (field === 'eventId') return eventId
  if (field === 'offset') return String(offset)
  if (field === 'readable') return plant === undefined ? 'no' : 'yes'
  return plant?.[field] ?? null
}

/**
 * A pair in the wrong order is reported once, by its second id, which is compared with the id before it. For an id of
 * another slice only its entry in the generation has the offset of its creation.
 */
async function compareOrder(reader: GenerationReader, comparison: Comparison): Promise<void> {
  const { partition, generation, fold, slice, upTo, report } = comparison
  const seen = new Set<PlantId>()
  let before: { id: string; offset: Offset } | undefined
  for await (const ids of reader.order(partition, generation, comparison.orderLength)) {
    const offsets = await otherOffsets(reader, comparison, ids)
    for (const text of ids) {
      const id = parsePlantId(text)
      if (!isTextIn(slice, id)) {
        const offset = offsets.get(text)
        if (offset !== undefined) before = { id: text, offset }
        continue
      }
      const claim = id === undefined ? undefined : fold.plants.get(id)
      if (claim === undefined || claim.offset > upTo) report({ what: 'orderExtra', id: text })
      else if (seen.has(claim.id)) report({ what: 'orderRepeated', id: text })
      else {
        if (before !== undefined && before.offset > claim.offset)
          report({ what: 'orderMisplaced', id: text, after: before.id })
        seen.add(claim.id)
        before = { id: text, offset: claim.offset }
      }
    }
    comparison.onRead?.()
  }
  for (const [id, { offset }] of fold.plants) {
    if (offset > upTo) break
    if (!seen.has(id)) report({ what: 'orderMissing', id: String(id) })
  }
}

/** The offsets at which ids of other slices were created according to the generation; invalid ones are left out. */
async function otherOffsets(
  reader: GenerationReader,
  { partition, generation, slice, upTo }: Comparison,
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
      if (offset !== undefined && offset <= upTo && reason !== undefined) {
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
 * Whether what was read was added after the generation had passed `upTo`. Then its checkpoint has passed that offset,
 * too: the checkpoint is read again whenever an offset is beyond the last known one.
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
  return JSON.stringify({ offset, event: eventId, ...(plant ?? { unreadable: true }) })
}
