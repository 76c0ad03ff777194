import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { TableRecord } from '@plant-store/shared/plant/plant-stored.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { differencesOf, formatClaim } from './compare.ts'
import { addDifference, type Findings, noFindings, type Subject } from './difference.ts'
import {
  type Folded,
  foldSlice,
  inSlices,
  isIn,
  RECORDS_AT_ONCE_MAX,
  type ReadLog,
  type ReadRanges,
  recordsIn,
  type Slice,
} from './slice.ts'

export type TableVerifierOptions = {
  /** The checkpoint of the read model in each partition: as far as the table should be soon. */
  readCheckpoints(): Promise<ReadonlyMap<Partition, { offset: Offset }>>
  readLogEnds(): Promise<Offset[]>
  readTableEnds(): Promise<Offset[]>
  readLog: ReadLog
  readTable: ReadRanges<TableRecord>
  /** The latest row in some partitions of the table, now. */
  readLatest(partitions: readonly Partition[]): Promise<ReadonlyMap<Partition, { offset: Offset }>>
  /** Limits of the wait for rows that are not written yet. */
  patience?: { everyMs: number; giveUpAfterMs: number }
  /** Called with the number of records to read. */
  onStart?(records: number): void
  recordsAtOnceMax?: number
}

/** `behind`: the plants of the log that were created after the latest row. */
export type VerifiedTablePartition = { partition: Partition; upTo: Offset; rows: number; behind: number }
export type VerifiedTable = { partitions: VerifiedTablePartition[]; findings: Findings }

/** `due`: the last creation after the latest row that the read model had at the start. */
type Comparison = VerifiedTablePartition & { end: Offset; tableEnd: Offset; checkpoint: Offset; due: Offset }

const PATIENCE = { everyMs: 200, giveUpAfterMs: 10_000 }

const NOT_YET = new Error('rows are not written yet')

/**
 * Compares the table with a fold of the log: each plant up to the latest row has the row of its creation, and nothing
 * else is in the table. Only reads. Writes may continue: plants that were created after the latest row are left out,
 * but those that the read model has at the start must get their rows soon.
 */
export async function verifyTable(
  partitions: readonly Partition[],
  options: TableVerifierOptions,
): Promise<VerifiedTable> {
  const { readLog, readTable, readLatest, patience = PATIENCE, recordsAtOnceMax = RECORDS_AT_ONCE_MAX } = options
  const verified: VerifiedTable = { partitions: [], findings: noFindings() }
  const { findings } = verified
  // The table before the log, which has each of its plants.
  const checkpoints = await options.readCheckpoints()
  const tableEnds = await options.readTableEnds()
  const ends = await options.readLogEnds()
  const groups = inSlices(partitions, ends, recordsAtOnceMax)
  options.onStart?.(recordsIn(groups, ends) + recordsIn(groups, tableEnds))
  for (const { group, slices } of groups) {
    const compared = group.map((partition) => ({
      ...{ partition, upTo: BEFORE_FIRST, rows: 0, behind: 0, due: BEFORE_FIRST },
      ...{ end: ends[partition] as Offset, tableEnd: tableEnds[partition] as Offset },
      checkpoint: checkpoints.get(partition)?.offset ?? BEFORE_FIRST,
    }))
    for (const slice of slices) await compareSlice(compared, slice)
    await awaitDue(compared)
    for (const { partition, upTo, rows, behind } of compared)
      verified.partitions.push({ partition, upTo, rows, behind })
  }
  return verified

  async function compareSlice(compared: readonly Comparison[], slice: Slice): Promise<void> {
    const folds = await foldSlice(readLog, new Map(compared.map(({ partition, end }) => [partition, end])), slice)
    const comparing = compared.map((one) => {
      const { plants } = folds.get(one.partition) as Folded
      return { one, plants, seen: new Set<PlantId>(), from: BEFORE_LOG, end: one.tableEnd }
    })
    const byPartition = new Map(comparing.map((each) => [each.one.partition, each]))
    await readTable(byPartition, (partition, records) => {
      const { one, plants, seen } = byPartition.get(partition) as (typeof comparing)[number]
      const report = (difference: Subject) => addDifference(findings, { partition, ...difference })
      for (const { offset, row } of records) {
        if (row === undefined) {
          if (slice.index === 0) report({ what: 'rowForeign', offset })
          continue
        }
        if (row.offset < one.end && row.offset > one.upTo) one.upTo = row.offset
        if (!isIn(slice, row.id)) continue
        const expected = plants.get(row.id)
        if (expected === undefined) {
          report({ what: 'rowExtra', id: String(row.id), found: formatClaim(row) })
          continue
        }
        seen.add(row.id)
        // A newer release may read what this one cannot.
        const wanted = expected.plant === undefined ? { ...expected, plant: row.plant } : expected
        for (const difference of differencesOf(wanted, row))
          report({ what: 'rowChanged', id: String(row.id), ...difference })
      }
    })
    for (const { one, plants, seen } of comparing) {
      one.rows += seen.size
      for (const [, claim] of plants) {
        if (claim.plant === undefined || seen.has(claim.id)) continue
        if (claim.offset > one.upTo) {
          one.behind++
          if (claim.offset <= one.checkpoint && claim.offset > one.due) one.due = claim.offset
        } else {
          const missing = { what: 'rowMissing', id: String(claim.id), expected: formatClaim(claim) } as const
          addDifference(findings, { partition: one.partition, ...missing })
        }
      }
    }
  }

  /** Waits for the rows that are due, and reports the partitions that do not get them. */
  async function awaitDue(compared: readonly Comparison[]): Promise<void> {
    let late = compared.filter(({ due }) => due > BEFORE_FIRST)
    const find = async () => {
      const latest = await readLatest(late.map(({ partition }) => partition))
      late = late.filter(({ partition, due }) => (latest.get(partition)?.offset ?? BEFORE_FIRST) < due)
      if (late.length > 0) throw NOT_YET
    }
    if (late.length > 0)
      await retry(find, patience).catch((error: unknown) => {
        if (error !== NOT_YET) throw error
      })
    for (const { partition, behind } of late) addDifference(findings, { partition, what: 'rowsBehind', plants: behind })
  }
}
