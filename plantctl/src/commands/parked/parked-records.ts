import type { Range } from '@plant-store/shared/event-log/replay.ts'
import { type Claim, claimsItsId, type LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { after, BEFORE_FIRST, type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
import { claimsOf } from '@plant-store/shared/protocol/plants-table.ts'
import type { Reapplied } from '@plant-store/shared/read-model/apply.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import type { ReadLog } from '../../verify/slice.ts'

export type ReapplyDependencies = {
  generations: Pick<Generations, 'state' | 'parked' | 'reapply'>
  read: ReadLog
  /** Called with claims that are readable now, before the read model has them so. */
  writeRows?: ((partition: Partition, claims: readonly Claim[]) => Promise<void>) | undefined
  /** Counts the changes without making them. */
  dryRun: boolean
  onLooked(records: number): void
}

export type Reapplication = {
  /** Parked records that were read again. */
  looked: number
  /** Records that this release can read and that became entries; in a dry run, would become. */
  placed: number
  /** Records that stay parked with another reason. */
  renamed: number
  /** Records that stay parked with the same reason. */
  kept: number
  /**
   * Records that claim an id for this release but not for the one that parked them, or the reverse: a rebuild is
   * needed.
   */
  needRebuild: { partition: Partition; offset: Offset }[]
}

/** For all partitions together. */
const PARKED_AT_ONCE_MAX = 200_000
/** Per call of the script. */
const REAPPLIED_AT_ONCE_MAX = 256
const NEED_REBUILD_LISTED_MAX = 100

/**
 * Reads the parked records of these partitions from the log again and applies those that this release reads differently
 * than the one that parked them. The read model is then what a rebuild with this release would make of it.
 */
export async function reapplyParked(
  { generations, read, writeRows, dryRun, onLooked }: ReapplyDependencies,
  partitions: readonly Partition[],
): Promise<Reapplication> {
  const result: Reapplication = { looked: 0, placed: 0, renamed: 0, kept: 0, needRebuild: [] }
  const atOnce = Math.max(1, Math.floor(PARKED_AT_ONCE_MAX / partitions.length))
  const runs = new Map(partitions.map((partition) => [partition, runsIn(partition)]))

  // One reading of the log has one span per partition: the first one reads the first runs of all partitions.
  while (true) {
    const spans = new Map<Partition, Run>()
    for (const [partition, ofPartition] of runs) {
      const { value: run } = await ofPartition.next()
      if (run !== undefined) spans.set(partition, run)
    }
    if (spans.size === 0) return result
    await read(spans, (partition, records) => reapply(partition, records, spans.get(partition) as Run))
  }

  async function* runsIn(partition: Partition): AsyncGenerator<Run, undefined> {
    for (let from = BEFORE_FIRST; ; ) {
      const records = await parkedAfter(generations, partition, from, atOnce)
      yield* runsOf(records)
      if (records.length < atOnce) return
      from = (records.at(-1) as ParkedRecord).offset
    }
  }

  async function reapply(partition: Partition, records: LogRecord[], { reasons }: Run): Promise<void> {
    const parked = records.flatMap((record): Reapplied[] => {
      const was = reasons.get(record.offset)
      return was === undefined ? [] : [{ was, record }]
    })
    const changed: Reapplied[] = []
    for (const one of parked) {
      if (claimsItsId(one.was) !== (one.record.claim !== undefined)) {
        if (result.needRebuild.length < NEED_REBUILD_LISTED_MAX)
          result.needRebuild.push({ partition, offset: one.record.offset })
      } else if (one.was === one.record.parked) result.kept++
      else changed.push(one)
    }
    for (let n = 0; n < changed.length; n += REAPPLIED_AT_ONCE_MAX) {
      const batch = changed.slice(n, n + REAPPLIED_AT_ONCE_MAX)
      if (!dryRun) {
        const records = batch.map(({ record }) => record)
        await writeRows?.(partition, claimsOf({ records }))
        await generations.reapply(partition, batch)
      }
      const placed = batch.filter(({ record }) => record.parked === undefined).length
      result.placed += placed
      result.renamed += batch.length - placed
    }
    result.looked += parked.length
    onLooked(parked.length)
  }
}

/**
 * Parked records that are read from the log in one go: all of it from the first record to before `end`. It starts at no
 * checkpoint of the read model, so there is no event id to verify.
 */
export type Run = Range & { reasons: Map<Offset, number> }

/** Reading over this many records takes about as long as starting another reading. */
const GAP_MAX = 100_000

/** Groups sorted records into runs where they are close to each other. */
export function runsOf(records: readonly ParkedRecord[], gapMax = GAP_MAX): Run[] {
  const runs: Run[] = []
  for (const { offset, reason } of records) {
    const run = runs.at(-1)
    if (run !== undefined && offset - run.end <= gapMax) {
      run.reasons.set(offset, reason)
      run.end = after(offset)
    } else runs.push({ from: checkpointBefore(offset), end: after(offset), reasons: new Map([[offset, reason]]) })
  }
  return runs
}

export type ParkedRecord = { offset: Offset; reason: number }

/** A rebuild that switches during the scan drops the generation that is read; then the scan starts again. */
const ATTEMPTS_MAX = 5

type Reader = Pick<Generations, 'state' | 'parked'>

/**
 * Reads the first `max` parked records of a partition's live generation after an offset, in order. Memory is bounded by
 * `max`. Records that are parked during the scan may be included.
 */
export async function parkedAfter(
  reader: Reader,
  partition: Partition,
  after: Offset,
  max: number,
): Promise<ParkedRecord[]> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const { live } = await reader.state(partition)
    let lowest: ParkedRecord[] = []
    for await (const batch of reader.parked(partition, live)) {
      for (const [offset, reason] of batch) {
        const record = parseParked(offset, reason)
        if (record !== undefined && record.offset > after) lowest.push(record)
      }
      if (lowest.length > 2 * max) lowest = firstOf(lowest, max)
    }
    if ((await reader.state(partition)).live === live) return firstOf(lowest, max)
  }
  throw new Error(
    `the live generation of partition ${partition} changed ${ATTEMPTS_MAX} times during the scan: wait until no rebuild runs`,
  )
}

/** Sorted, without repetitions: a scan in Redis may return a field twice. */
function firstOf(records: readonly ParkedRecord[], max: number): ParkedRecord[] {
  const byOffset = new Map(records.map((record) => [record.offset, record]))
  return [...byOffset.values()].sort((a, b) => a.offset - b.offset).slice(0, max)
}

/** Undefined for an invalid field, which no release writes: plantctl verify reports it. */
function parseParked(offset: string, reason: string): ParkedRecord | undefined {
  return /^\d{1,15}$/.test(offset) && /^\d{1,9}$/.test(reason)
    ? { offset: offsetOf(offset), reason: Number(reason) }
    : undefined
}
