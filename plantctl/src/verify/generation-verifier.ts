import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { FirstClaims, PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import type { PackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import type { GenerationState } from '@plant-store/shared/read-model/state.ts'
import type { GenerationReader } from './compare.ts'
import { addDifference, type Counts, type Difference, noFindings, type Subject } from './difference.ts'
import { countsOf, expiryDifferences, openComparison } from './generation-comparison.ts'
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
  reader: GenerationReader
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
    const upTo = checkpoint.offset
    const findings = noFindings()
    const report = (difference: Subject) =>
      addDifference(findings, { partition, generation, ...difference }, DIFFERENCES_MAX)
    const target = { partition, generation, state, upTo, report, onRead: options.onRead }
    const { compareSlice, compareMeta } = openComparison(reader, target)
    await compareSlice(slice, fold, counts)
    for (let n = 1; n < slice.count; n++) {
      const other = { ...slice, index: (slice.index + n) % slice.count }
      const otherFold = await foldSlice(partition, upTo, other, options)
      await compareSlice(other, otherFold, countsOf(otherFold))
    }
    compareMeta({ reached: checkpoint, end: after(upTo), partitions, mark: state.mark })
    // Not of the pointers, which the switch writes again: a pointer that expires is a reason to rebuild.
    for (const one of expiryDifferences(state)) if (one.key !== 'live' && one.key !== 'filling') report(one)
    return findings.listed
  }
}
