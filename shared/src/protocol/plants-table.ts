import type { Claim, LogRecord } from '../plant/plant-created.ts'
import type { Row } from '../plant/plant-stored.ts'
import type { Offset } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from './checkpoint.ts'

/** Successive records of one partition of the log, between two checkpoints. */
export type LogSpan = { from: Checkpoint; records: readonly LogRecord[]; next: Checkpoint }

/** The entries that the read model has for the ids of some claims, and the checkpoint at which they were read. */
export type FirstClaimsOf = {
  checkpoint: Offset
  entries: readonly (Pick<Claim, 'offset' | 'eventId' | 'plant'> | undefined)[]
}

/** The records of a span that a table written up to `written` lacks; undefined for a span that begins later. */
export function unwritten(written: Checkpoint, { from, records, next }: LogSpan): LogSpan | undefined {
  if (from.offset > written.offset) return undefined
  return { from: written, records: records.filter(({ offset }) => offset > written.offset), next }
}

export function claimsOf({ records }: Pick<LogSpan, 'records'>): Claim[] {
  return records.flatMap(({ claim }) => claim ?? [])
}

/**
 * The rule: the first claim of an id is the row of its plant; every other claim is void. The read model knows which
 * claim is the first one, but only of claims up to its checkpoint: after a failover it may be behind. Returns undefined
 * while it does not know. The plant of a claim that this release cannot read comes from the entry, which a newer
 * release may have written; a claim that no release could read yet has no row.
 */
export function rowsOf(claims: readonly Claim[], { checkpoint, entries }: FirstClaimsOf): Row[] | undefined {
  const rows: Row[] = []
  for (const [n, claim] of claims.entries()) {
    const first = entries[n]
    if (claim.offset > checkpoint || first === undefined || first.offset > claim.offset) return undefined
    if (first.offset < claim.offset) continue
    if (first.eventId !== claim.eventId) return undefined
    const plant = claim.plant ?? first.plant
    if (plant !== undefined) rows.push({ ...claim, plant })
  }
  return rows
}

/** Whichever of two rows was created later. */
export function laterRow(one: Row | undefined, another: Row): Row {
  return one === undefined || another.offset > one.offset ? another : one
}

/**
 * The position where the writer of a table continues: after the row that was created last. A row is written when all
 * rows before it are in the table, so none is left out.
 */
export function writtenUpTo(latest: Row | undefined): Checkpoint {
  return latest === undefined ? BEFORE_LOG : { offset: latest.offset, eventId: latest.eventId }
}
