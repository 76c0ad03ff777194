import { after, type Offset } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { FOLD_VERSION, type GenerationState } from '@plant-store/shared/read-model/state.ts'
import { type Comparison, compareWithFold, type GenerationReader, type StoredCounts } from './compare.ts'
import { addDifference, type Counts, type Difference, type KeyName, noFindings, type Subject } from './difference.ts'
import { type Folded, foldSlice, type ReadLog, type Slice } from './slice.ts'

export type GenerationComparison = ReturnType<typeof openComparison>

/** Compares a generation with the log: each slice with its fold, then the metadata with the sums over all slices. */
export function openComparison(
  reader: GenerationReader,
  target: Pick<Comparison, 'partition' | 'generation' | 'state' | 'upTo' | 'report' | 'onRead'>,
) {
  const { state, report } = target
  const counts: Counts = { plants: 0, voids: 0, parked: 0 }
  const stored: StoredCounts = { plants: 0, parked: 0 }

  function compareTexts(subject: Subject, expected: string, found: string): void {
    if (expected !== found) report({ ...subject, expected, found })
  }

  return {
    counts,

    async compareSlice(slice: Slice, fold: Folded, ofFold: Counts): Promise<void> {
      const found = await compareWithFold(reader, { ...target, slice, fold, counts: ofFold })
      stored.plants += found.plants
      stored.parked += found.parked
      counts.plants += ofFold.plants
      counts.voids += ofFold.voids
      counts.parked += ofFold.parked
    },

    /**
     * Compares the metadata, which was read before the contents. `reached` is the checkpoint of the fold: the
     * generation's, if the log has that offset; `end` is the log's end, read after the state; `mark` is '' if it is live.
     */
    compareMeta(log: { reached: Checkpoint; end: Offset; partitions: number; mark: string }): void {
      const { reached, end, partitions, mark } = log
      const { texts, sizes, checkpoint } = state
      if (checkpoint === undefined || String(checkpoint.offset) !== texts.checkpoint || checkpoint.offset >= end)
        report({ what: 'checkpoint', expected: `an offset from -1 to ${end - 1}`, found: texts.checkpoint })
      else compareTexts({ what: 'checkpointEvent', offset: checkpoint.offset }, reached.eventId, texts.event)
      compareTexts({ what: 'foldVersion' }, String(FOLD_VERSION), texts.fold)
      compareTexts({ what: 'partitionCount' }, String(partitions), texts.partitions)
      compareTexts({ what: 'mark' }, mark, texts.mark)
      for (const key of ['plants', 'voids', 'parked'] as const) {
        const count = { what: 'count', of: key } as const
        // A count does not exist before it is first incremented.
        if (counts[key] > 0 || texts[key] !== '') compareTexts(count, String(counts[key]), texts[key])
      }
      for (const key of ['plants', 'parked'] as const)
        compareTexts({ what: 'size', of: key }, String(stored[key]), String(sizes[key]))
    },
  }
}

export function countsOf({ plants, voids, parked }: Folded): Counts {
  return { plants: plants.size, voids, parked: parked.size }
}

/** Keys with an expiry: Redis would delete them. */
export function expiryDifferences({ ttlMs }: GenerationState): Subject[] {
  return Object.entries(ttlMs).flatMap(([key, ms]): Subject[] =>
    ms < 0 ? [] : [{ what: 'expiry', key: key as KeyName, found: String(ms) }],
  )
}

/** A few differences are enough to reject a new generation. */
const DIFFERENCES_MAX = 100

/**
 * The state at which a new generation is compared: fold and generation were at the same checkpoint. The fold may have
 * grown since.
 */
export type Snapshot = Pick<Comparison, 'partition' | 'slice' | 'fold' | 'counts' | 'state'> & {
  checkpoint: Checkpoint
}

type VerificationOptions = Pick<Comparison, 'onRead'> & { partitions: number; read: ReadLog }

/**
 * Compares a new generation with the fold of the log: its slice with the fold in memory, each other slice with a
 * separate fold, one at a time, so that only one more fold is in memory.
 */
export async function verifyGeneration(
  reader: GenerationReader,
  { partition, checkpoint, slice, fold, counts, state }: Snapshot,
  { partitions, read, onRead }: VerificationOptions,
): Promise<Difference[]> {
  const { generation } = state
  const upTo = checkpoint.offset
  const findings = noFindings()
  const report = (difference: Subject) =>
    addDifference(findings, { partition, generation, ...difference }, DIFFERENCES_MAX)
  const target = { partition, generation, state, upTo, report, onRead }
  const { compareSlice, compareMeta } = openComparison(reader, target)
  await compareSlice(slice, fold, counts)
  for (let n = 1; n < slice.count; n++) {
    const other = { ...slice, index: (slice.index + n) % slice.count }
    const folds = await foldSlice(read, new Map([[partition, after(upTo)]]), other)
    const otherFold = folds.get(partition) as Folded
    await compareSlice(other, otherFold, countsOf(otherFold))
  }
  compareMeta({ reached: checkpoint, end: after(upTo), partitions, mark: state.mark })
  // Not of the pointers, which the switch writes again: a pointer that expires is a reason to rebuild.
  for (const one of expiryDifferences(state)) if (one.key !== 'live' && one.key !== 'filling') report(one)
  return findings.listed
}
