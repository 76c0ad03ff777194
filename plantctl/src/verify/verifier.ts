import type { Range } from '@plant-store/shared/event-log/replay.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { after, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import type { Generations, PartitionGenerations } from '@plant-store/shared/read-model/generations.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import { compareWithFold } from './compare.ts'
import { addDifference, addFindings, type Difference, type Findings, noFindings } from './difference.ts'
import { hasMoved, type LiveGeneration, lastCompared, openLiveGeneration, report } from './live-generation.ts'
import { metaDifferences } from './meta-differences.ts'
import { ofSlice, partitionGroups, RECORDS_AT_ONCE_MAX, type Slice, slicesFor, slicesOf } from './slice.ts'

export type VerifierOptions = {
  generations: Pick<
    Generations,
    'list' | 'pointers' | 'keyTypes' | 'metaFields' | 'state' | 'plants' | 'entries' | 'order' | 'parked'
  >
  /** The number of partitions of the topic. */
  partitions: number
  /** Reads the next offset of each partition of the log. */
  readEnds(): Promise<Offset[]>
  /** Reads ranges of the log, as replay.ts does. */
  read(
    ranges: ReadonlyMap<Partition, Range>,
    onRecords: (partition: Partition, records: LogRecord[], reached: Checkpoint) => void,
  ): Promise<void>
  time: Time
  /** Called with the number of records to read; partitions that are compared again are read again. */
  onStart?(records: number): void
  recordsAtOnceMax?: number
}

/** How far a partition was compared; `generation` is '' when none is live. */
export type VerifiedPartition = {
  partition: Partition
  generation: string
  upTo: Offset
  end: Offset
  plants: number
}

export type Verified = { partitions: VerifiedPartition[]; findings: Findings }

/** Comparisons of a partition whose live generation is switched or falls back each time. */
const ATTEMPTS_MAX = 5
/**
 * A rebuild drops the previous generation right after the switch, and a projector fills a partition right after its
 * first record. A leftover or an empty partition that is still there after this time is a difference.
 */
const RECHECK_AFTER_MS = 2_000

/**
 * Compares live generations with a fold of the log, each up to its checkpoint. Only reads. Writes may go on: records
 * after the checkpoint are left out. Rejects when a live generation is switched or falls back repeatedly, and when log
 * or read model cannot be read.
 */
export function createVerifier(options: VerifierOptions) {
  const { generations, partitions: partitionCount, readEnds, read, time } = options
  const { recordsAtOnceMax = RECORDS_AT_ONCE_MAX } = options

  async function verifyGroup(partitions: readonly Partition[], slices: number, verified: Verified): Promise<void> {
    let left = partitions
    for (let attempt = 1; left.length > 0; attempt++) {
      if (attempt > ATTEMPTS_MAX) {
        throw new Error(
          `the live generation of partition ${left.join(', ')} changed ${ATTEMPTS_MAX} times during the comparison: ` +
            'wait until no rebuild runs and Redis no longer fails over, then try again',
        )
      }
      const moved: Partition[] = []
      for (const [live, result] of await verifyOnce(left, slices)) {
        if (await hasMoved(generations, live)) moved.push(live.partition)
        else {
          verified.partitions.push(result)
          addFindings(verified.findings, live.findings)
        }
      }
      left = moved
    }
  }

  async function verifyOnce(
    partitions: readonly Partition[],
    slices: number,
  ): Promise<[LiveGeneration, VerifiedPartition][]> {
    const opened = await Promise.all(partitions.map((partition) => openLiveGeneration(generations, partition)))
    // Read after the checkpoints: in the reverse order a checkpoint could appear to be beyond the end.
    const ends = await readEnds()
    const endOf = ({ partition }: LiveGeneration) => ends[partition] as Offset
    for (const slice of slicesOf(slices)) await compareSlice(opened, slice, endOf)
    return opened.map((live) => {
      const { partition, generation, state, counts, stored, reached } = live
      const end = endOf(live)
      if (state !== undefined) {
        const expected = { reached, end, counts, stored, partitions: partitionCount, mark: '' }
        report(live, ...metaDifferences(state, expected))
      }
      const upTo = reached.offset
      return [live, { partition, generation, upTo, end, plants: counts.plants }]
    })
  }

  async function compareSlice(
    opened: readonly LiveGeneration[],
    slice: Slice,
    endOf: (live: LiveGeneration) => Offset,
  ): Promise<void> {
    const folds = new Map(opened.map(({ partition }) => [partition, emptyPartition()]))
    const ranges = new Map(
      opened.flatMap((live): [Partition, Range][] => {
        if (live.state === undefined) return []
        const end = after(lastCompared(live.state, endOf(live)))
        return [[live.partition, { from: emptyPartition().checkpoint, end }]]
      }),
    )
    await read(ranges, (partition, records, reached) => {
      const state = folds.get(partition) ?? emptyPartition()
      folds.set(partition, { ...fold(state, ofSlice(slice, records)), checkpoint: reached })
    })
    for (const live of opened) {
      const { partition, generation, state, counts, stored } = live
      if (state === undefined) continue
      const folded = folds.get(partition) ?? emptyPartition()
      live.reached = folded.checkpoint
      const found = await compareWithFold(generations, {
        partition,
        generation,
        fold: folded,
        slice,
        upTo: lastCompared(state, endOf(live)),
        orderLength: state.sizes.order,
        report: (difference) => report(live, difference),
      })
      // Frees memory for the next partition.
      folds.delete(partition)
      stored.plants += found.plants
      stored.parked += found.parked
      counts.plants += folded.plants.size
      counts.voids += folded.voids
      counts.parked += folded.parked.size
    }
  }

  /**
   * Finds leftover generations, partitions without a live one although the log has records, and keys of no generation.
   */
  async function verifyKeys({ partitions: compared, findings }: Verified): Promise<void> {
    const endOf = new Map(compared.map(({ partition, end }) => [partition, end]))
    const { partitions, strange } = await generations.list()
    const found = keyDifferences(partitions, endOf)
    if (found.size > 0) {
      await delay(time, RECHECK_AFTER_MS)
      const still = keyDifferences((await generations.list()).partitions, endOf)
      for (const [key, difference] of found) if (still.has(key)) addDifference(findings, difference)
    }
    for (const key of strange) addDifference(findings, { what: 'strangeKey', found: key })
  }

  return {
    /** Compares the live generations of these partitions, and finds keys that nothing uses. */
    async verify(partitions: readonly Partition[]): Promise<Verified> {
      const verified: Verified = { partitions: [], findings: noFindings() }
      const ends = await readEnds()
      const recordsOf = (partition: Partition) => ends[partition] as number
      const slicesOfPartition = (partition: Partition) => slicesFor(recordsOf(partition), recordsAtOnceMax)
      options.onStart?.(partitions.reduce((sum, p) => sum + recordsOf(p) * slicesOfPartition(p), 0))
      for (const group of partitionGroups(partitions, recordsOf, recordsAtOnceMax)) {
        await verifyGroup(group, Math.max(...group.map(slicesOfPartition)), verified)
      }
      // Partitions that were compared again were added later.
      verified.partitions.sort((a, b) => a.partition - b.partition)
      await verifyKeys(verified)
      return verified
    },
  }
}

/** Leftover generations and missing live ones of the compared partitions, by partition and generation. */
function keyDifferences(
  partitions: readonly PartitionGenerations[],
  endOf: ReadonlyMap<Partition, Offset>,
): Map<string, Difference> {
  const differences = new Map<string, Difference>()
  for (const { partition, live, filling, names } of partitions) {
    const end = endOf.get(partition)
    if (end === undefined) continue
    for (const name of names) {
      if (name === live || name === filling) continue
      differences.set(`${partition}:${name}`, { what: 'leftover', partition, generation: name, found: name })
    }
    if (live === '' && end > FIRST)
      differences.set(`${partition}:`, { what: 'noGeneration', partition, generation: '', end })
  }
  return differences
}
