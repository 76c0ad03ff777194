import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartition } from '@plant-store/shared/protocol/first-wins.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { FOLD_VERSION, type GenerationState, META_FIELDS } from '@plant-store/shared/read-model/state.ts'
import type { StoredCounts } from './compare.ts'
import { addDifference, type Findings, type GenerationDifference, type KeyName, noFindings } from './difference.ts'
import { type Counts, expiryDifferences } from './meta-differences.ts'

/** The live generation of a partition during its verification. */
export type LiveGeneration = {
  partition: Partition
  generation: string
  /** The state before the contents are read; undefined when there are no contents, or none that can be compared. */
  state: GenerationState | undefined
  findings: Findings
  /** Sums over all slices: of the fold, and of what the generation has. */
  counts: Counts
  stored: StoredCounts
  /** The checkpoint up to which the log was folded. */
  reached: Checkpoint
}

/** Reads and checks the keys and the state of the live generation of a partition. */
export async function openLiveGeneration(
  reader: Pick<Generations, 'pointers' | 'keyTypes' | 'metaFields' | 'state'>,
  partition: Partition,
): Promise<LiveGeneration> {
  const { live: generation, filling } = await reader.pointers(partition)
  const opened: LiveGeneration = {
    partition,
    generation,
    state: undefined,
    findings: noFindings(),
    counts: { plants: 0, voids: 0, parked: 0 },
    stored: { plants: 0, parked: 0 },
    reached: emptyPartition().checkpoint,
  }
  const unreadable = wrongTypes(await reader.keyTypes(partition, generation))
  report(opened, ...unreadable)
  if (unreadable.length > 0) return opened
  if (filling !== '' && (await isDangling(reader, partition, filling)))
    report(opened, { what: 'pointerDangling', key: 'filling', found: filling })
  const state = await reader.state(partition, generation)
  report(opened, ...expiryDifferences(state))
  const fields = await reader.metaFields(partition, generation)
  const strange = fields.filter((name) => !META_FIELDS.some((known) => known === name))
  report(opened, ...strange.map((found): GenerationDifference => ({ what: 'strangeField', found })))
  const { checkpoint, fold } = state.texts
  if (generation !== '' && checkpoint === '')
    report(opened, { what: 'pointerDangling', key: 'live', found: generation })
  else if (Number(fold) > FOLD_VERSION)
    report(opened, { what: 'foldVersion', expected: String(FOLD_VERSION), found: fold })
  else if (checkpoint !== '') opened.state = state
  return opened
}

const TYPES: Record<KeyName, string> = {
  live: 'string',
  filling: 'string',
  meta: 'hash',
  plants: 'hash',
  order: 'list',
  parked: 'hash',
}

/** Keys of another type than a release writes: commands that read them would fail. */
function wrongTypes(found: ReadonlyMap<string, string>): GenerationDifference[] {
  return Object.entries(TYPES).flatMap(([key, expected]): GenerationDifference[] => {
    const type = found.get(key)
    if (type === undefined || type === expected) return []
    return [{ what: 'wrongType', key: key as KeyName, expected, found: type }]
  })
}

/** Whether the findings are void because the generation is no longer live, or fell back behind what was compared. */
export async function hasMoved(
  reader: Pick<Generations, 'pointers' | 'state'>,
  { partition, generation, state }: LiveGeneration,
): Promise<boolean> {
  const { live } = await reader.pointers(partition)
  if (live !== generation) return true
  if (state?.checkpoint === undefined) return false
  const now = await reader.state(partition, generation)
  return now.checkpoint === undefined || now.checkpoint.offset < state.checkpoint.offset
}

export function report(
  { partition, generation, findings }: LiveGeneration,
  ...differences: readonly GenerationDifference[]
): void {
  for (const difference of differences) addDifference(findings, { partition, generation, ...difference })
}

async function isDangling(reader: Pick<Generations, 'state'>, partition: Partition, filling: string): Promise<boolean> {
  const state = await reader.state(partition, filling)
  // A rebuild may have switched to it or abandoned it since the pointers were read.
  return state.filling === filling && state.texts.checkpoint === ''
}

/**
 * The last offset to compare: the checkpoint, or the last offset of the log if the checkpoint is beyond it or invalid.
 */
export function lastCompared({ checkpoint }: GenerationState, end: Offset): Offset {
  return Math.min(checkpoint?.offset ?? end, end - 1) as Offset
}
