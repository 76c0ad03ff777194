import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { FirstClaims, PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import type { GenerationState } from '@plant-store/shared/read-model/state.ts'
import { compareWithFold, type GenerationReader } from './compare.ts'
import type { Difference, GenerationDifference } from './difference.ts'
import { noFindings, note } from './findings.ts'
import type { FoldedPlants } from './folded-plants.ts'
import { type Counts, expiryDifferences, metaDifferences } from './meta-differences.ts'
import { isProved, type ProofReader } from './proof.ts'
import type { Slice } from './slice.ts'

/** More would tell nothing new. */
const DIFFERENCES_MAX = 100

/** The moment for which a generation is compared: fold and generation stood at the same checkpoint. */
export type Cut = {
  checkpoint: Checkpoint
  slice: Slice
  /** What the fold of the slice had counted there. */
  counts: Counts
  /** What the generation said of itself there. */
  found: GenerationState
}

/** `onRead` is told after each batch that was read, of Redis or of the log. */
export type Going = { onRead(): void; signal: AbortSignal }

export type VerifyGeneration = (
  partition: Partition,
  generation: string,
  fold: PartitionState<FoldedPlants>,
  cut: Cut,
  going: Going,
) => Promise<Difference[]>

export type GenerationVerifierOptions = {
  reader: GenerationReader & ProofReader
  partitions: number
  /** Folds one slice of a partition from the log's first offset up to this one, apart from Redis. */
  foldSlice(
    partition: Partition,
    upTo: Offset,
    slice: Slice,
    going: Going,
  ): Promise<PartitionState<FirstClaims>>
}

/**
 * Compares a generation with the fold of the log: its slice with the fold at hand, each other one with a fold of its
 * own, one after the other, so that no more than one is in memory besides.
 */
export function createGenerationVerifier({
  reader,
  partitions,
  foldSlice,
}: GenerationVerifierOptions): VerifyGeneration {
  return async (partition, generation, fold, { checkpoint, slice, counts, found }, going) => {
    const upTo = checkpoint.offset
    const findings = noFindings()
    const tell = (difference: GenerationDifference) =>
      note(findings, { partition, generation, ...difference }, DIFFERENCES_MAX)
    const listed = found.sizes.order
    const common = { partition, generation, upTo, onRead: going.onRead }
    const isWhole = slice.count === 1
    const held =
      isWhole && (await isProved(reader, { ...common, fold, counts, found }))
        ? { plants: counts.plants, parked: counts.parked }
        : await compareWithFold(reader, { ...common, fold, slice, listed, tell })
    const sum = { ...counts }
    for (let n = 1; n < slice.count; n++) {
      const other = { ...slice, index: (slice.index + n) % slice.count }
      const otherFold = await foldSlice(partition, upTo, other, going)
      const otherHeld = await compareWithFold(reader, {
        ...{ ...common, fold: otherFold, slice: other, listed, tell },
      })
      held.plants += otherHeld.plants
      held.parked += otherHeld.parked
      sum.plants += otherFold.plants.size
      sum.voids += otherFold.voids
      sum.parked += otherFold.parked.size
    }
    const log = { reached: checkpoint, end: after(upTo), partitions, mark: found.mark }
    for (const difference of [
      ...metaDifferences(found, { ...log, counts: sum, held }),
      // Not of the pointers, which the switch writes anew: one that expires is a reason to rebuild.
      ...expiryDifferences(found).filter(({ key }) => key !== 'live' && key !== 'filling'),
    ])
      tell(difference)
    return findings.kept
  }
}
