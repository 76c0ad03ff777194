import type { EventId } from '../plant/event-id.ts'
import type { LogRecord } from '../plant/plant-created.ts'
import type { Row } from '../plant/plant-stored.ts'
import { BEFORE_FIRST, type Offset } from '../plant/position.ts'
import type { Checkpoint } from './checkpoint.ts'

/** Successive records of one partition of the log, between two checkpoints. */
export type LogSpan = { from: Checkpoint; records: readonly LogRecord[]; next: Checkpoint }

/** The entries that the read model has for the ids of some claims, and the checkpoint at which they were read. */
export type FirstClaimsOf = {
  checkpoint: Offset
  entries: readonly ({ offset: Offset; eventId: EventId } | undefined)[]
}

/**
 * The part of a span that a table does not have yet which is written up to a checkpoint; undefined when records lie
 * between the two.
 */
export function unwritten(written: Checkpoint, { from, records, next }: LogSpan): LogSpan | undefined {
  if (from.offset > written.offset) return undefined
  return { from: written, records: records.filter(({ offset }) => offset > written.offset), next }
}

/** The claims that may become rows: those that this release can read. */
export function readableClaims({ records }: Pick<LogSpan, 'records'>): Row[] {
  return records.flatMap(({ claim }) => (claim?.plant === undefined ? [] : [{ ...claim, plant: claim.plant }]))
}

/**
 * The rule: the first claim of an id is the row of its plant; every other claim is void. The read model knows which
 * claim is the first one, but only of claims up to its checkpoint: after a failover it may be behind. Returns undefined
 * while it does not know.
 */
export function rowsOf(claims: readonly Row[], { checkpoint, entries }: FirstClaimsOf): Row[] | undefined {
  const rows: Row[] = []
  for (const [n, claim] of claims.entries()) {
    const first = entries[n]
    if (claim.offset > checkpoint || first === undefined || first.offset > claim.offset) return undefined
    if (first.offset < claim.offset) continue
    if (first.eventId !== claim.eventId) return undefined
    rows.push(claim)
  }
  return rows
}

/**
 * Where the writer of a table continues: after the latest creation among the newest rows of a partition. A row is
 * written when all rows before it are in the table, so none is left out. Rows may repeat, so the last one need not be
 * the latest.
 */
export function writtenUpTo(rows: readonly Row[]): Checkpoint {
  return rows.reduce<Checkpoint>(
    (latest, { offset, eventId }) => (offset > latest.offset ? { offset, eventId } : latest),
    { offset: BEFORE_FIRST, eventId: '' },
  )
}
