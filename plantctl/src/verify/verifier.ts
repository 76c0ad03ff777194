import type { Range } from '@plant-store/shared/event-log/replay.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { after, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import type { Generations, PartitionGenerations } from '@plant-store/shared/read-model/generations.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import { compareWithFold } from './compare.ts'
import type { Difference } from './difference.ts'
import { type Findings, noFindings, note, noteAll } from './findings.ts'
import { metaDifferences } from './meta-differences.ts'
import { partitionGroups } from './partition-groups.ts'
import { ofSlice, RECORDS_AT_ONCE_MAX, type Slice, slicesFor, slicesOf } from './slice.ts'
import { hasMoved, lastCompared, openSubject, type Subject, tell } from './subject.ts'

export type VerifierOptions = {
  generations: Pick<
    Generations,
    'list' | 'pointers' | 'keyTypes' | 'metaFields' | 'state' | 'plants' | 'entries' | 'order' | 'parked'
  >
  /** How many partitions the topic has. */
  partitions: number
  /** The next offset of each partition of the log. */
  ends(): Promise<Offset[]>
  /** Reads ranges of the log, as replay.ts does. */
  read(
    ranges: ReadonlyMap<Partition, Range>,
    onRecords: (partition: Partition, records: LogRecord[], reached: Checkpoint) => void,
  ): Promise<void>
  time: Time
  /** Told how many records there are to read; those of a partition that is begun again are read again. */
  onBegin?(records: number): void
  recordsAtOnceMax?: number
}

/** How far a partition was compared; its generation is '' when it has none yet. */
export type VerifiedPartition = {
  partition: Partition
  generation: string
  upTo: Offset
  end: Offset
  plants: number
}

export type Verified = { partitions: VerifiedPartition[]; findings: Findings }

/** How often a partition is begun again because its live generation was exchanged, or fell back, meanwhile. */
const ATTEMPTS_MAX = 5
/**
 * A rebuild drops what served before right after the switch: what is there for longer is left over. A projector fills a
 * partition right after its first record: one that is empty for longer is not being filled.
 */
const STAYS_AFTER_MS = 2_000

/**
 * Holds live generations to a fold of the log, made here and now, each up to its checkpoint. Only reads, and writes
 * may go on: what comes in beyond the checkpoint is left out. Rejects when a live generation is exchanged again and
 * again, and when log or read model can't be read.
 */
export function createVerifier(options: VerifierOptions) {
  const { generations, partitions: size, ends, read, time } = options
  const { recordsAtOnceMax = RECORDS_AT_ONCE_MAX } = options

  async function verifyGroup(
    partitions: readonly Partition[],
    slices: number,
    verified: Verified,
  ): Promise<void> {
    let left = partitions
    for (let attempt = 1; left.length > 0; attempt++) {
      if (attempt > ATTEMPTS_MAX) {
        throw new Error(
          `the live generation of partition ${left.join(', ')} was exchanged ${ATTEMPTS_MAX} times while it was ` +
            'compared: wait until no rebuild runs and Redis stays the same, and try again',
        )
      }
      const moved: Partition[] = []
      for (const [subject, result] of await verifyOnce(left, slices)) {
        if (await hasMoved(generations, subject)) moved.push(subject.partition)
        else {
          verified.partitions.push(result)
          noteAll(verified.findings, subject.findings)
        }
      }
      left = moved
    }
  }

  async function verifyOnce(
    partitions: readonly Partition[],
    slices: number,
  ): Promise<[Subject, VerifiedPartition][]> {
    const subjects = await Promise.all(partitions.map((partition) => openSubject(generations, partition)))
    // Asked for after the checkpoints: the other way round one could seem to lie beyond the end.
    const found = await ends()
    const endOf = ({ partition }: Subject) => found[partition] as Offset
    for (const slice of slicesOf(slices)) await compareSlice(subjects, slice, endOf)
    return subjects.map((subject) => {
      const { partition, generation, state, counts, held, reached } = subject
      const end = endOf(subject)
      if (state !== undefined) {
        const expected = { reached, end, counts, held, partitions: size, mark: '' }
        tell(subject, ...metaDifferences(state, expected))
      }
      const upTo = reached.offset
      return [subject, { partition, generation, upTo, end, plants: counts.plants }]
    })
  }

  async function compareSlice(
    subjects: readonly Subject[],
    slice: Slice,
    endOf: (subject: Subject) => Offset,
  ): Promise<void> {
    const folds = new Map(subjects.map(({ partition }) => [partition, emptyPartition()]))
    const ranges = new Map(
      subjects.flatMap((subject): [Partition, Range][] => {
        if (subject.state === undefined) return []
        const end = after(lastCompared(subject.state, endOf(subject)))
        return [[subject.partition, { from: emptyPartition().checkpoint, end }]]
      }),
    )
    await read(ranges, (partition, records, reached) => {
      const state = folds.get(partition) ?? emptyPartition()
      folds.set(partition, { ...fold(state, ofSlice(slice, records)), checkpoint: reached })
    })
    for (const subject of subjects) {
      const { partition, generation, state, counts, held } = subject
      if (state === undefined) continue
      const folded = folds.get(partition) ?? emptyPartition()
      subject.reached = folded.checkpoint
      const upTo = lastCompared(state, endOf(subject))
      const found = await compareWithFold(generations, {
        ...{ partition, generation, fold: folded, slice, upTo, listed: state.sizes.order },
        tell: (difference) => tell(subject, difference),
      })
      // What was compared makes room for the next one.
      folds.delete(partition)
      held.plants += found.plants
      held.parked += found.parked
      counts.plants += folded.plants.size
      counts.voids += folded.voids
      counts.parked += folded.parked.size
    }
  }

  /** Keys of generations that are neither live nor being filled, such that belong to nothing, and none where the log has records. */
  async function verifyKeys({ partitions: compared, findings }: Verified): Promise<void> {
    const endOf = new Map(compared.map(({ partition, end }) => [partition, end]))
    const { partitions, strange } = await generations.list()
    const found = keyDifferences(partitions, endOf)
    if (found.size > 0) {
      await delay(time, STAYS_AFTER_MS)
      const still = keyDifferences((await generations.list()).partitions, endOf)
      for (const [key, difference] of found) if (still.has(key)) note(findings, difference)
    }
    for (const key of strange) note(findings, { what: 'strangeKey', found: key })
  }

  return {
    /** Compares the live generations of these partitions, and looks for keys that nothing needs. */
    async verify(asked: readonly Partition[]): Promise<Verified> {
      const verified: Verified = { partitions: [], findings: noFindings() }
      const found = await ends()
      const recordsOf = (partition: Partition) => found[partition] as number
      const slicesOfPartition = (partition: Partition) => slicesFor(recordsOf(partition), recordsAtOnceMax)
      options.onBegin?.(asked.reduce((sum, p) => sum + recordsOf(p) * slicesOfPartition(p), 0))
      for (const group of partitionGroups(asked, recordsOf, recordsAtOnceMax)) {
        await verifyGroup(group, Math.max(...group.map(slicesOfPartition)), verified)
      }
      // What was begun again came later.
      verified.partitions.sort((a, b) => a.partition - b.partition)
      await verifyKeys(verified)
      return verified
    },
  }
}

/** By partition and generation, what is too much or missing of the partitions whose log ends before these offsets. */
function keyDifferences(
  partitions: readonly PartitionGenerations[],
  endOf: ReadonlyMap<Partition, Offset>,
): Map<string, Difference> {
  return new Map(
    partitions.flatMap(({ partition, live, filling, names }): [string, Difference][] => {
      const end = endOf.get(partition)
      if (end === undefined) return []
      const leftovers = names.filter((name) => name !== live && name !== filling)
      return [
        ...leftovers.map((found): [string, Difference] => [
          `${partition}:${found}`,
          { what: 'leftover', partition, generation: found, found },
        ]),
        ...(live === '' && end > FIRST
          ? [
              [`${partition}:`, { what: 'noGeneration', partition, generation: '', end }] as [
                string,
                Difference,
              ],
            ]
          : []),
      ]
    }),
  )
}
