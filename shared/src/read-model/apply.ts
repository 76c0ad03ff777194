import type { LogRecord } from '../plant/plant-created.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { packRecords } from './packed-records.ts'
import { assertFoldVersion, assertPartitionCount } from './refusals.ts'
import { storedCheckpoint } from './stored-checkpoint.ts'

// How apply.lua is called, and what its answers mean.

export type Applied = { is: 'applied' } | { is: 'stale'; checkpoint: Checkpoint }

export type ApplyCall = {
  /** '' for the live one. */
  generation: string
  foldVersion: number
  partitions: number
  /** Its offset alone is compared. */
  expected: Checkpoint
  next: Checkpoint
  /** What a live one that has yet to begin is named. */
  freshGeneration: string
  records: readonly LogRecord[]
}

export function applyArguments(call: ApplyCall): (string | number | Buffer)[] {
  const { generation, foldVersion, partitions, expected, next, freshGeneration, records } = call
  return [
    ...[generation, foldVersion, partitions, expected.offset, next.offset, next.eventId, freshGeneration],
    packRecords(records),
  ]
}

/** Throws a PreconditionError for a generation of a newer release or another topic size. */
export function appliedOf(
  [outcome, first, second]: readonly string[],
  partitions: number,
): Applied | { is: 'gone' } {
  if (outcome === 'OK') return { is: 'applied' }
  if (outcome === 'STALE') return { is: 'stale', checkpoint: storedCheckpoint(first, second) }
  if (outcome === 'GONE') return { is: 'gone' }
  if (outcome === 'FOLD') assertFoldVersion(Number(first))
  if (outcome === 'PARTITIONS') assertPartitionCount(Number(first), partitions)
  throw new Error(`the read model did not apply: ${outcome}`)
}
