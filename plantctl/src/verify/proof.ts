import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import type { PackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import { type Generations, sameSpan } from '@plant-store/shared/read-model/generations.ts'
import type { GenerationState } from '@plant-store/shared/read-model/state.ts'
import type { Counts } from './meta-differences.ts'

/** Reads a generation in bounded batches. */
export type ProofReader = Pick<Generations, 'state' | 'span' | 'parked'>

/** A generation, and the fold of its whole partition to compare it with. */
export type ProofInput = {
  partition: Partition
  generation: string
  /** The fold, at least up to offset `upTo`. Later records are left out. */
  fold: Pick<PartitionState<PackedClaims>, 'plants' | 'parked'>
  upTo: Offset
  /** The counts of the fold at `upTo`. */
  counts: Counts
  /** The state of the generation at `upTo`. */
  state: GenerationState
  /** Called after each batch. */
  onRead(): void
}

/** Spans requested at once: Redis packs the next ones while one is compared. */
const SPANS_IN_FLIGHT = 3

/**
 * Whether entries, order and parked records equal the fold byte for byte. This holds when the order is that of the
 * fold, each plant in it has the fold's entry, and the number of entries is the same, so that there are no others. The
 * generation may grow during the comparison. If it does not match, `compareWithFold` finds the differences.
 */
export async function matchesFold(reader: ProofReader, input: ProofInput): Promise<boolean> {
  const { partition, generation, counts, state } = input
  if (!hasSizes(state, counts)) return false
  if (!(await hasAllPlants(reader, input)) || !(await hasAllParked(reader, input))) return false
  // Entries that were added during the comparison without being counted were not read with any plant.
  const after = await reader.state(partition, generation)
  return hasSizes(after, after)
}

/** Whether each key has the size that was counted: then the order names every entry. */
function hasSizes({ sizes }: GenerationState, { plants, parked }: Pick<Counts, 'plants' | 'parked'>): boolean {
  return sizes.plants === plants && sizes.order === plants && sizes.parked === parked
}

async function hasAllPlants(reader: ProofReader, input: ProofInput): Promise<boolean> {
  const { partition, generation, fold, counts, onRead } = input
  const { plantsPerSpan } = fold.plants
  const failures: unknown[] = []
  let from = 0
  let isSame = true

  /** The start of the next span. The first span is read even of an empty fold. */
  function nextSpan(): number | undefined {
    const start = from
    from += plantsPerSpan
    const continues = isSame && failures.length === 0
    return continues && (start === 0 || start < counts.plants) ? start : undefined
  }

  async function compareSpans(): Promise<void> {
    for (let start = nextSpan(); start !== undefined; start = nextSpan()) {
      const count = Math.min(plantsPerSpan, Math.max(counts.plants - start, 1))
      const stored = await reader.span(partition, generation, start, count)
      isSame &&= sameSpan(stored, fold.plants.span(start, counts.plants))
      onRead()
    }
  }
  // A failure stops the other readers, so that a retry does not share Redis with them.
  const readers = Array.from({ length: SPANS_IN_FLIGHT }, compareSpans)
  await Promise.all(readers.map((reading) => reading.catch((error: unknown) => failures.push(error))))
  if (failures.length > 0) throw failures[0]
  return isSame
}

async function hasAllParked(reader: ProofReader, input: ProofInput): Promise<boolean> {
  const { partition, generation, fold, upTo, counts, onRead } = input
  const seen = new Set<string>()
  for await (const batch of reader.parked(partition, generation)) {
    for (const [text, reason] of batch) {
      const offset = Number(text) as Offset
      if (offset > upTo) continue
      const expected = fold.parked.get(offset)
      if (expected === undefined || String(offset) !== text || String(expected) !== reason) return false
      seen.add(text)
    }
    onRead()
  }
  return seen.size === counts.parked
}
