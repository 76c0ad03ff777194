import type { Range } from '@plant-store/shared/event-log/replay.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { TableRecord } from '@plant-store/shared/plant/plant-stored.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartition, fold, type PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import { differencesOf, formatClaim } from './compare.ts'
import { addDifference, type Findings, noFindings, type RowDifference } from './difference.ts'
import { isIn, ofSlice, partitionGroups, RECORDS_AT_ONCE_MAX, type Slice, slicesFor, slicesOf } from './slice.ts'

type Ranges = ReadonlyMap<Partition, Range>

export type TableVerifierOptions = {
  /** The next offset of each partition. */
  readLogEnds(): Promise<Offset[]>
  readTableEnds(): Promise<Offset[]>
  /** Read ranges, as replay.ts does. */
  readLog(ranges: Ranges, onRecords: (partition: Partition, records: LogRecord[]) => void): Promise<void>
  readTable(ranges: Ranges, onRecords: (partition: Partition, records: TableRecord[]) => void): Promise<void>
  /** Called with the number of records to read. */
  onStart?(records: number): void
  recordsAtOnceMax?: number
}

/** `behind`: the plants of the log that were created after the latest row. */
export type VerifiedTablePartition = { partition: Partition; upTo: Offset; rows: number; behind: number }
export type VerifiedTable = { partitions: VerifiedTablePartition[]; findings: Findings }

type Comparison = VerifiedTablePartition & { end: Offset; tableEnd: Offset }

/**
 * Compares the table with a fold of the log: each plant up to the latest row has the row of its creation, and nothing
 * else is in the table. Only reads. Writes may go on: plants that were created after the latest row are left out.
 */
export function createTableVerifier(options: TableVerifierOptions) {
  const { readLogEnds, readTableEnds, readLog, readTable, recordsAtOnceMax = RECORDS_AT_ONCE_MAX } = options

  async function compareSlice(compared: readonly Comparison[], slice: Slice, findings: Findings): Promise<void> {
    const folds = new Map(compared.map(({ partition }) => [partition, emptyPartition()]))
    await readLog(rangesOf(compared, 'end'), (partition, records) => {
      fold(folds.get(partition) as PartitionState, ofSlice(slice, records))
    })
    const seen = new Map(compared.map(({ partition }) => [partition, new Set<PlantId>()]))
    const byPartition = new Map(compared.map((one) => [one.partition, one]))
    await readTable(rangesOf(compared, 'tableEnd'), (partition, records) => {
      const [{ plants }, known] = [folds.get(partition) as PartitionState, seen.get(partition)]
      const one = byPartition.get(partition) as Comparison
      const report = (difference: RowDifference) => addDifference(findings, { partition, ...difference })
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
        known?.add(row.id)
        // A newer release may read what this one can not.
        const wanted = expected.plant === undefined ? { ...expected, plant: row.plant } : expected
        for (const difference of differencesOf(wanted, row))
          report({ what: 'rowChanged', id: String(row.id), ...difference })
      }
    })
    for (const one of compared) {
      const { plants } = folds.get(one.partition) as PartitionState
      const known = seen.get(one.partition)
      one.rows += known?.size ?? 0
      for (const claim of plants.values()) {
        if (claim.plant === undefined || known?.has(claim.id)) continue
        if (claim.offset > one.upTo) one.behind++
        else
          addDifference(findings, {
            ...{ partition: one.partition, what: 'rowMissing', id: String(claim.id), expected: formatClaim(claim) },
          })
      }
      folds.delete(one.partition)
    }
  }

  return {
    async verify(partitions: readonly Partition[]): Promise<VerifiedTable> {
      // The table first: the log has each of its plants.
      const tableEnds = await readTableEnds()
      const ends = await readLogEnds()
      const verified: VerifiedTable = { partitions: [], findings: noFindings() }
      const recordsOf = (partition: Partition) => ends[partition] as number
      const slicesOfPartition = (partition: Partition) => slicesFor(recordsOf(partition), recordsAtOnceMax)
      options.onStart?.(
        partitions.reduce((sum, p) => sum + (recordsOf(p) + (tableEnds[p] as number)) * slicesOfPartition(p), 0),
      )
      for (const group of partitionGroups(partitions, recordsOf, recordsAtOnceMax)) {
        const compared = group.map((partition) => ({
          ...{ partition, upTo: BEFORE_FIRST, rows: 0, behind: 0 },
          ...{ end: ends[partition] as Offset, tableEnd: tableEnds[partition] as Offset },
        }))
        for (const slice of slicesOf(Math.max(...group.map(slicesOfPartition)))) {
          await compareSlice(compared, slice, verified.findings)
        }
        for (const { partition, upTo, rows, behind } of compared)
          verified.partitions.push({ partition, upTo, rows, behind })
      }
      return verified
    },
  }
}

const START: Checkpoint = { offset: BEFORE_FIRST, eventId: '' }

const rangesOf = (compared: readonly Comparison[], until: 'end' | 'tableEnd'): Ranges =>
  new Map(compared.map((one) => [one.partition, { from: START, end: one[until] }]))
