import type { Offset } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { FOLD_VERSION, type GenerationState } from '@plant-store/shared/read-model/state.ts'
import type { Held } from './compare.ts'
import type { Counted, GenerationDifference, KeyName } from './difference.ts'

export type Counts = Record<Counted, number>

/** What the log says that a generation should say of itself. */
export type ExpectedMeta = {
  /** Where the log was folded to: the checkpoint of the generation, if the log has that offset. */
  reached: Checkpoint
  /** The next offset of the log, asked for after the state. */
  end: Offset
  counts: Counts
  /** How much of what it should hold, and of what it should not, was found in it. */
  held: Held
  partitions: number
  /** '' for one that serves. */
  mark: string
}

/** What a generation says of itself that is not so, by its state before its contents were compared. */
export function metaDifferences(state: GenerationState, expected: ExpectedMeta): GenerationDifference[] {
  const { texts, sizes } = state
  return [
    ...checkpointDifferences(state, expected),
    ...differing('foldVersion', String(FOLD_VERSION), texts.fold),
    ...differing('partitionCount', String(expected.partitions), texts.partitions),
    ...differing('mark', expected.mark, texts.mark),
    ...(['plants', 'voids', 'parked'] as const).flatMap((of): GenerationDifference[] => {
      const count = String(expected.counts[of])
      // Counts begin to exist with the first thing counted.
      return (texts[of] || '0') === count ? [] : [{ what: 'count', of, expected: count, found: texts[of] }]
    }),
    ...(['plants', 'parked'] as const).flatMap((of): GenerationDifference[] => {
      const [found, told] = [String(sizes[of]), String(expected.held[of])]
      return found === told ? [] : [{ what: 'size', of, expected: told, found }]
    }),
  ]
}

type Expiry = Extract<GenerationDifference, { what: 'expiry' }>

/** The keys that would vanish by themselves. */
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
  return [
    { what: 'checkpointEvent', offset: checkpoint.offset, expected: reached.eventId, found: texts.event },
  ]
}

function differing(
  what: 'foldVersion' | 'partitionCount' | 'mark',
  expected: string,
  found: string,
): GenerationDifference[] {
  return expected === found ? [] : [{ what, expected, found }]
}
