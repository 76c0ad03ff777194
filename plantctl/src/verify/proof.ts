import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import { type Generations, sameSpan } from '@plant-store/shared/read-model/generations.ts'
import type { GenerationState } from '@plant-store/shared/read-model/state.ts'
import type { FoldedPlants } from './folded-plants.ts'
import type { Counts } from './meta-differences.ts'

/** What a generation is proved with, in bounded batches. */
export type ProofReader = Pick<Generations, 'state' | 'span' | 'parked'>

/** A generation, and the fold of its whole partition that it is held to. */
export type Proved = {
  partition: Partition
  generation: string
  /** The fold, up to the offset `upTo` at least. What lies beyond is left out. */
  fold: Pick<PartitionState<FoldedPlants>, 'plants' | 'parked'>
  upTo: Offset
  /** How much the fold had at `upTo`. */
  counts: Counts
  /** What the generation said of itself there. */
  found: GenerationState
  /** Told after each batch. */
  onRead(): void
}

/** While Redis packs the next ones, what came is compared. */
const SPANS_UNDER_WAY = 3

/**
 * Whether entries, order and what is parked are the fold's to the last byte. The order is that of the fold, plant by
 * plant; each of these plants has the fold's entry; and there are as many entries, so that there are no others. The
 * generation may grow meanwhile. "No" says nothing about what is different: that is for `compareWithFold` to find.
 */
export async function isProved(reader: ProofReader, proved: Proved): Promise<boolean> {
  const { partition, generation, counts, found } = proved
  if (!holds(found, counts)) return false
  if (!(await hasAllPlants(reader, proved)) || !(await hasAllParked(reader, proved))) return false
  // What was put there in between, past the counts, is in none of the plants that were read.
  const after = await reader.state(partition, generation)
  return holds(after, after)
}

/** Each key holds as much as was counted: all of it is then told by the order. */
function holds({ sizes }: GenerationState, { plants, parked }: Pick<Counts, 'plants' | 'parked'>): boolean {
  return sizes.plants === plants && sizes.order === plants && sizes.parked === parked
}

async function hasAllPlants(reader: ProofReader, proved: Proved): Promise<boolean> {
  const { partition, generation, fold, counts, onRead } = proved
  const { plantsPerSpan } = fold.plants
  const failures: unknown[] = []
  let from = 0
  let isSame = true

  /** Where the next span begins; that of an empty fold is read, too. */
  function nextSpan(): number | undefined {
    const begin = from
    from += plantsPerSpan
    const goesOn = isSame && failures.length === 0
    return goesOn && (begin === 0 || begin < counts.plants) ? begin : undefined
  }

  async function compareSpans(): Promise<void> {
    for (let begin = nextSpan(); begin !== undefined; begin = nextSpan()) {
      const count = Math.min(plantsPerSpan, Math.max(counts.plants - begin, 1))
      const stored = await reader.span(partition, generation, begin, count)
      isSame &&= sameSpan(stored, fold.plants.span(begin, counts.plants))
      onRead()
    }
  }
  // One that fails ends the others: a second try would have to share Redis with what is left of the first.
  const readers = Array.from({ length: SPANS_UNDER_WAY }, compareSpans)
  await Promise.all(readers.map((reading) => reading.catch((error: unknown) => failures.push(error))))
  if (failures.length > 0) throw failures[0]
  return isSame
}

async function hasAllParked(reader: ProofReader, proved: Proved): Promise<boolean> {
  const { partition, generation, fold, upTo, counts, onRead } = proved
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
