import { claimsItsId, type LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Reapplied } from '@plant-store/shared/read-model/apply.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { type ParkedRecord, parkedAfter } from './parked-records.ts'
import { type Run, runsOf } from './runs.ts'

export type ReapplyDependencies = {
  generations: Pick<Generations, 'state' | 'parked' | 'reapply'>
  /** Reads spans of the log, one of each partition. */
  read(
    spans: ReadonlyMap<Partition, { from: Offset; end: Offset }>,
    onRecords: (partition: Partition, records: LogRecord[]) => Promise<void>,
  ): Promise<void>
  /** Only tells what would change. */
  dryRun: boolean
  onLooked(records: number): void
}

export type Reapplication = {
  /** Parked records that were looked at. */
  looked: number
  /** Those that this release reads, and that were put into place; of a dry run, would be. */
  placed: number
  /** Those that stay parked, for another reason than before. */
  renamed: number
  /** Those that stay as they are. */
  kept: number
  /** Those of which this release thinks otherwise whether they claim an id: only a rebuild can put them into place. */
  needRebuild: { partition: Partition; offset: Offset }[]
}

/** All partitions together. */
const PARKED_AT_ONCE_MAX = 200_000
/** One call of the script. */
const REAPPLIED_AT_ONCE_MAX = 256
const NEED_REBUILD_TOLD_MAX = 100

/**
 * Reads the parked records of these partitions from the log again and puts into place what this release reads
 * otherwise than the one that parked them. The read model is then what a rebuild by this release would make of it.
 */
export async function reapplyParked(
  { generations, read, dryRun, onLooked }: ReapplyDependencies,
  partitions: readonly Partition[],
): Promise<Reapplication> {
  const result: Reapplication = { looked: 0, placed: 0, renamed: 0, kept: 0, needRebuild: [] }
  const atOnce = Math.max(1, Math.floor(PARKED_AT_ONCE_MAX / partitions.length))
  const left = new Map(partitions.map((partition) => [partition, BEFORE_FIRST]))

  while (left.size > 0) {
    const runs = new Map<Partition, Run[]>()
    for (const [partition, after] of [...left]) {
      const records = await parkedAfter(generations, partition, after, atOnce)
      if (records.length > 0) runs.set(partition, runsOf(records))
      if (records.length < atOnce) left.delete(partition)
      else left.set(partition, (records.at(-1) as ParkedRecord).offset)
    }
    await reapplyRuns(runs)
  }
  return result

  /** A reading of the log has one span of each partition; so the first runs of all come together, then the second ones. */
  async function reapplyRuns(runs: ReadonlyMap<Partition, Run[]>): Promise<void> {
    for (let n = 0; ; n++) {
      const turn = new Map<Partition, Run>()
      for (const [partition, some] of runs) {
        const run = some[n]
        if (run !== undefined) turn.set(partition, run)
      }
      if (turn.size === 0) return
      const reasons = new Map([...turn].map(([partition, { records }]) => [partition, reasonsOf(records)]))
      await read(turn, (partition, records) => take(partition, records, reasons.get(partition) ?? new Map()))
    }
  }

  async function take(
    partition: Partition,
    records: LogRecord[],
    reasons: ReadonlyMap<Offset, number>,
  ): Promise<void> {
    const parked = records.flatMap((record): Reapplied[] => {
      const was = reasons.get(record.offset)
      return was === undefined ? [] : [{ was, record }]
    })
    const changing: Reapplied[] = []
    for (const one of parked) {
      if (claimsItsId(one.was) !== (one.record.claim !== undefined)) {
        if (result.needRebuild.length < NEED_REBUILD_TOLD_MAX)
          result.needRebuild.push({ partition, offset: one.record.offset })
      } else if (one.was === one.record.parked) result.kept++
      else changing.push(one)
    }
    for (let n = 0; n < changing.length; n += REAPPLIED_AT_ONCE_MAX) {
      const some = changing.slice(n, n + REAPPLIED_AT_ONCE_MAX)
      if (!dryRun) await generations.reapply(partition, some)
      result.placed += some.filter(({ record }) => record.parked === undefined).length
      result.renamed += some.filter(({ record }) => record.parked !== undefined).length
    }
    result.looked += parked.length
    onLooked(parked.length)
  }
}

function reasonsOf(records: readonly ParkedRecord[]): Map<Offset, number> {
  return new Map(records.map(({ offset, reason }) => [offset, reason]))
}
