import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { FirstClaims, PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import type { PackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import type { GenerationState } from '@plant-store/shared/read-model/state.ts'
import { compareWithFold, type GenerationReader } from './compare.ts'
import { addDifference, type Difference, type GenerationDifference, noFindings } from './difference.ts'
import { type Counts, expiryDifferences, metaDifferences } from './meta-differences.ts'
import { matchesFold, type ProofReader } from './proof.ts'
import type { Slice } from './slice.ts'

/** A few differences are enough to reject a new generation. */
const DIFFERENCES_MAX = 100

/** The state at which a generation is compared: fold and generation were at the same checkpoint. */
export type Snapshot = {
  checkpoint: Checkpoint
  slice: Slice
  /** The counts of the fold of the slice. */
  counts: Counts
  state: GenerationState
}

/** `onRead` is called after each batch that was read from Redis or the log. */
export type ReadOptions = { onRead(): void; signal: AbortSignal }

export type VerifyGeneration = (
  partition: Partition,
  generation: string,
  fold: PartitionState<PackedClaims>,
  snapshot: Snapshot,
  options: ReadOptions,
) => Promise<Difference[]>

export type GenerationVerifierOptions = {
  reader: GenerationReader & ProofReader
  partitions: number
  /** Folds one slice of a partition from the log's first offset up to `upTo`, without Redis. */
  foldSlice(
    partition: Partition,
    upTo: Offset,
    slice: Slice,
    options: ReadOptions,
  ): Promise<PartitionState<FirstClaims>>
}

/**
 * Compares a new generation with the fold of the log: its slice with the fold in memory, each other slice with a fold
 * of its own, one at a time, so that only one more fold is in memory.
 */
export function createGenerationVerifier({
  reader,
  partitions,
  foldSlice,
}: GenerationVerifierOptions): VerifyGeneration {
  return async (partition, generation, fold, { checkpoint, slice, counts, state }, options) => {
    const { onRead } = options
    const upTo = checkpoint.offset
    const findings = noFindings()
    const report = (difference: GenerationDifference) =>
      addDifference(findings, { partition, generation, ...difference }, DIFFERENCES_MAX)
    const common = { partition, generation, upTo, onRead }
    const comparison = { ...common, orderLength: state.sizes.order, report }
    const isWhole = slice.count === 1
    const stored =
      isWhole && (await matchesFold(reader, { ...common, fold, counts, state }))
        ? { plants: counts.plants, parked: counts.parked }
        : await compareWithFold(reader, { ...comparison, fold, slice })
    const sum = { ...counts }
    for (let n = 1; n < slice.count; n++) {
      const other = { ...slice, index: (slice.index + n) % slice.count }
      const otherFold = await foldSlice(partition, upTo, other, options)
      const otherStored = await compareWithFold(reader, { ...comparison, fold: otherFold, slice: other })
      stored.plants += otherStored.plants
      stored.parked += otherStored.parked
      sum.plants += otherFold.plants.size
      sum.voids += otherFold.voids
      sum.parked += otherFold.parked.size
    }
    const expected = { reached: checkpoint, end: after(upTo), partitions, mark: state.mark }
    for (const difference of [
      ...metaDifferences(state, { ...expected, counts: sum, stored }),
      // Not of the pointers, which the switch writes again: a pointer that expires is a reason to rebuild.
      ...expiryDifferences(state).filter(({ key }) => key !== 'live' && key !== 'filling'),
    ])
      report(difference)
    return findings.listed
  }
}
