import type { Offset } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { FirstClaims, PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import { FOLD_VERSION, type GenerationState } from '@plant-store/shared/read-model/state.ts'
import { type Comparison, compareWithFold, type GenerationReader, type StoredCounts } from './compare.ts'
import type { Counts, KeyName, Subject } from './difference.ts'

/** The metadata that a generation should have according to the log, besides its counts. */
export type ExpectedMeta = {
  /** The checkpoint of the fold: that of the generation, if the log has that offset. */
  reached: Checkpoint
  /** The next offset of the log, read after the state. */
  end: Offset
  partitions: number
  /** '' for a live generation. */
  mark: string
}

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

    async compareSlice(slice: Comparison['slice'], fold: Comparison['fold'], ofFold: Counts): Promise<void> {
      const found = await compareWithFold(reader, { ...target, slice, fold, counts: ofFold })
      stored.plants += found.plants
      stored.parked += found.parked
      counts.plants += ofFold.plants
      counts.voids += ofFold.voids
      counts.parked += ofFold.parked
    },

    /** Compares the metadata, which was read before the contents. */
    compareMeta({ reached, end, partitions, mark }: ExpectedMeta): void {
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

export function countsOf({ plants, voids, parked }: PartitionState<FirstClaims>): Counts {
  return { plants: plants.size, voids, parked: parked.size }
}

/** Keys with an expiry: Redis would delete them. */
export function expiryDifferences({ ttlMs }: GenerationState): Subject[] {
  return Object.entries(ttlMs).flatMap(([key, ms]): Subject[] =>
    ms < 0 ? [] : [{ what: 'expiry', key: key as KeyName, found: String(ms) }],
  )
}
