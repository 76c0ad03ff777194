import type { LogRecord } from '../plant/plant-created.ts'
import { encodeEntry } from './entry.ts'
import { assertFoldVersion, assertPartitionCount, FOLD_VERSION } from './refusals.ts'

// How reapply.lua is called, and what its answers mean.

/** A parked record: why it is parked, and what this release makes of it. */
export type Reapplied = { was: number; record: LogRecord }

export function reapplyArguments(
  partitions: number,
  reapplied: readonly Reapplied[],
): (string | number | Buffer)[] {
  const args: (string | number | Buffer)[] = [FOLD_VERSION, partitions]
  for (const { was, record } of reapplied) {
    const { offset, claim, parked } = record
    args.push(offset, was, parked ?? '')
    args.push(claim === undefined ? '' : String(claim.id), claim === undefined ? '' : encodeEntry(claim))
  }
  return args
}

/** How many records were changed; throws a PreconditionError for a generation of a newer release or another topic size. */
export function reappliedOf([outcome, first]: readonly string[], partitions: number): number {
  if (outcome === 'OK') return Number(first)
  // What a projector fills anew is read by the release that fills it.
  if (outcome === 'GONE') return 0
  if (outcome === 'FOLD') assertFoldVersion(Number(first))
  if (outcome === 'PARTITIONS') assertPartitionCount(Number(first), partitions)
  throw new Error(`the read model did not reapply: ${outcome}`)
}
