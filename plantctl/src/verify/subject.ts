import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartition } from '@plant-store/shared/protocol/first-wins.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { FOLD_VERSION, type GenerationState, META_FIELDS } from '@plant-store/shared/read-model/state.ts'
import type { Held } from './compare.ts'
import type { GenerationDifference } from './difference.ts'
import { type Findings, noFindings, note } from './findings.ts'
import { type Counts, expiryDifferences } from './meta-differences.ts'
import { wrongTypes } from './wrong-types.ts'

/** The live generation of one partition while it is verified. */
export type Subject = {
  partition: Partition
  generation: string
  /** As it was before its contents are read; undefined when there is nothing to compare, or nothing that can be. */
  state: GenerationState | undefined
  findings: Findings
  /** Sums over all slices, and where the log was folded to. */
  counts: Counts
  held: Held
  reached: Checkpoint
}

/** Looks at the keys and at the state of the live generation of a partition. */
export async function openSubject(
  reader: Pick<Generations, 'pointers' | 'keyTypes' | 'metaFields' | 'state'>,
  partition: Partition,
): Promise<Subject> {
  const { live: generation, filling } = await reader.pointers(partition)
  const subject: Subject = {
    ...{ partition, generation, state: undefined, findings: noFindings() },
    counts: { plants: 0, voids: 0, parked: 0 },
    held: { plants: 0, parked: 0 },
    reached: emptyPartition().checkpoint,
  }
  const unreadable = wrongTypes(await reader.keyTypes(partition, generation))
  tell(subject, ...unreadable)
  if (unreadable.length > 0) return subject
  if (filling !== '' && (await isDangling(reader, partition, filling)))
    tell(subject, { what: 'pointerDangling', key: 'filling', found: filling })
  const state = await reader.state(partition, generation)
  tell(subject, ...expiryDifferences(state))
  const fields = await reader.metaFields(partition, generation)
  const strange = fields.filter((name) => !META_FIELDS.some((known) => known === name))
  tell(subject, ...strange.map((found): GenerationDifference => ({ what: 'strangeField', found })))
  const { checkpoint, fold } = state.texts
  if (generation !== '' && checkpoint === '')
    tell(subject, { what: 'pointerDangling', key: 'live', found: generation })
  else if (Number(fold) > FOLD_VERSION)
    tell(subject, { what: 'foldVersion', expected: String(FOLD_VERSION), found: fold })
  else if (checkpoint !== '') subject.state = state
  return subject
}

/** Of what it says of a generation nothing holds that is no longer live, or has lost a part of what was compared. */
export async function hasMoved(
  reader: Pick<Generations, 'pointers' | 'state'>,
  { partition, generation, state }: Subject,
): Promise<boolean> {
  const { live } = await reader.pointers(partition)
  if (live !== generation) return true
  if (state?.checkpoint === undefined) return false
  const now = await reader.state(partition, generation)
  return now.checkpoint === undefined || now.checkpoint.offset < state.checkpoint.offset
}

export function tell(
  { partition, generation, findings }: Subject,
  ...differences: readonly GenerationDifference[]
): void {
  for (const difference of differences) note(findings, { partition, generation, ...difference })
}

async function isDangling(
  reader: Pick<Generations, 'state'>,
  partition: Partition,
  filling: string,
): Promise<boolean> {
  const state = await reader.state(partition, filling)
  // Unless it was switched to, or given up, in between.
  return state.filling === filling && state.texts.checkpoint === ''
}

/** The last offset that is compared: the checkpoint, or the log's last one if that is no offset of the log. */
export function lastCompared({ checkpoint }: GenerationState, end: Offset): Offset {
  return Math.min(checkpoint?.offset ?? end, end - 1) as Offset
}
