import type { Offset } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { FOLD_VERSION, type GenerationState } from '@plant-store/shared/read-model/state.ts'
import type { StoredCounts } from './compare.ts'
import type { Counted, GenerationDifference, KeyName } from './difference.ts'

export type Counts = Record<Counted, number>

/** The metadata that a generation should have according to the log. */
export type ExpectedMeta = {
  /** The checkpoint of the fold: that of the generation, if the log has that offset. */
  reached: Checkpoint
  /** The next offset of the log, read after the state. */
  end: Offset
  counts: Counts
  /** What the comparison found in the generation, expected or not. */
  stored: StoredCounts
  partitions: number
  /** '' for a live generation. */
  mark: string
}

/** Compares the metadata of a generation, read before its contents were compared. */
export function metaDifferences(state: GenerationState, expected: ExpectedMeta): GenerationDifference[] {
  const { texts, sizes } = state
  return [
    ...checkpointDifferences(state, expected),
    ...differing('foldVersion', String(FOLD_VERSION), texts.fold),
    ...differing('partitionCount', String(expected.partitions), texts.partitions),
    ...differing('mark', expected.mark, texts.mark),
    ...(['plants', 'voids', 'parked'] as const).flatMap((of): GenerationDifference[] => {
      const count = String(expected.counts[of])
      // A count does not exist before it is first incremented.
      return (texts[of] || '0') === count ? [] : [{ what: 'count', of, expected: count, found: texts[of] }]
    }),
    ...(['plants', 'parked'] as const).flatMap((of): GenerationDifference[] => {
      const [found, stored] = [String(sizes[of]), String(expected.stored[of])]
      return found === stored ? [] : [{ what: 'size', of, expected: stored, found }]
    }),
  ]
}

type Expiry = Extract<GenerationDifference, { what: 'expiry' }>

/** Keys with an expiry: Redis would delete them. */
export function expiryDifferences({ ttlMs }: GenerationState): Expiry[] {
  return Object.entries(ttlMs).flatMap(([key, ms]): Expiry[] =>
    ms < 0 ? [] : [{ what: 'expiry', key: key as KeyName, found: String(ms) }],
  )
}

function checkpointDifferences(
  { texts, checkpoint }: GenerationState,
  { reached, end }: ExpectedMeta,
): GenerationDifference[] {
  const found = texts.checkpoint
  if (checkpoint === undefined || String(checkpoint.offset) !== found || checkpoint.offset >= end)
    return [{ what: 'checkpoint', expected: `an offset from -1 to ${end - 1}`, found }]
  if (reached.eventId === texts.event) return []
  return [{ what: 'checkpointEvent', offset: checkpoint.offset, expected: reached.eventId, found: texts.event }]
}

function differing(
  what: 'foldVersion' | 'partitionCount' | 'mark',
  expected: string,
  found: string,
): GenerationDifference[] {
  return expected === found ? [] : [{ what, expected, found }]
}
