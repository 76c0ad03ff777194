import { after, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { Generations, PartitionGenerations } from '@plant-store/shared/read-model/generations.ts'
import { FOLD_VERSION, type GenerationState, META_FIELDS } from '@plant-store/shared/read-model/state.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import { KEY_TYPES } from '@plant-store/shared/status/read-status.ts'
import type { GenerationReader } from './compare.ts'
import {
  addDifference,
  addFindings,
  type Difference,
  type Findings,
  type KeyName,
  noFindings,
  type Subject,
} from './difference.ts'
import { countsOf, expiryDifferences, type GenerationComparison, openComparison } from './generation-comparison.ts'
import { type Folded, foldSlice, inSlices, RECORDS_AT_ONCE_MAX, type ReadLog, recordsIn, type Slice } from './slice.ts'

export type VerifierOptions = {
  generations: GenerationReader & Pick<Generations, 'list' | 'pointers' | 'keyTypes' | 'metaFields'>
  readEnds(): Promise<Offset[]>
  read: ReadLog
  time: Time
  /** Called with the number of records to read; partitions that are compared again are read again. */
  onStart?(records: number): void
  recordsAtOnceMax?: number
}

/** The extent of a partition's comparison; `generation` is '' when none is live. */
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

/** The live generation of a partition during its verification. */
type Live = {
  partition: Partition
  generation: string
  /** Before the contents are read; undefined when there are no contents, or none that can be compared. */
  state: GenerationState | undefined
  findings: Findings
}

/** A live generation whose contents are compared up to offset `upTo`. */
type Compared = Live & { end: Offset; upTo: Offset; reached: Checkpoint; comparison: GenerationComparison | undefined }

/**
 * Compares the live generations of some partitions with a fold of the log, each up to its checkpoint, and finds keys
 * that nothing uses. Only reads. Writes may continue: records after the checkpoint are left out. Rejects when a live
 * generation is switched or falls back repeatedly, and when log or read model cannot be read.
 */
export async function verifyReadModel(partitions: readonly Partition[], options: VerifierOptions): Promise<Verified> {
  const { generations, readEnds, read, time, recordsAtOnceMax = RECORDS_AT_ONCE_MAX } = options
  const verified: Verified = { partitions: [], findings: noFindings() }
  const ends = await readEnds()
  const groups = inSlices(partitions, ends, recordsAtOnceMax)
  options.onStart?.(recordsIn(groups, ends))
  for (const { group, slices } of groups) await verifyGroup(group, slices)
  // Partitions that were compared again were added later.
  verified.partitions.sort((a, b) => a.partition - b.partition)
  await verifyKeys()
  return verified

  async function verifyGroup(group: readonly Partition[], slices: readonly Slice[]): Promise<void> {
    let left = group
    for (let attempt = 1; left.length > 0; attempt++) {
      if (attempt > ATTEMPTS_MAX) {
        throw new Error(
          `the live generation of partition ${left.join(', ')} changed ${ATTEMPTS_MAX} times during the comparison: ` +
            'wait until no rebuild runs and Redis no longer fails over, then try again',
        )
      }
      const moved: Partition[] = []
      for (const live of await verifyOnce(left, slices)) {
        const { partition, generation, end, reached, comparison } = live
        if (await hasMoved(live)) moved.push(partition)
        else {
          const plants = comparison?.counts.plants ?? 0
          verified.partitions.push({ partition, generation, upTo: reached.offset, end, plants })
          addFindings(verified.findings, live.findings)
        }
      }
      left = moved
    }
  }

  async function verifyOnce(partitions: readonly Partition[], slices: readonly Slice[]): Promise<Compared[]> {
    const opened = await Promise.all(partitions.map(openLive))
    // Read after the checkpoints: in the reverse order a checkpoint could appear to be beyond the end.
    const ends = await readEnds()
    const compared = opened.map((live): Compared => {
      const end = ends[live.partition] as Offset
      // The last offset of the log if the checkpoint is beyond it or invalid.
      const upTo = Math.min(live.state?.checkpoint?.offset ?? end, end - 1) as Offset
      const comparison =
        live.state && openComparison(generations, { ...live, state: live.state, upTo, report: reportTo(live) })
      return { ...live, end, upTo, comparison, reached: BEFORE_LOG }
    })
    const readable = compared.filter(({ comparison }) => comparison !== undefined)
    for (const slice of slices) await compareSlice(readable, slice)
    for (const { comparison, reached, end } of compared)
      comparison?.compareMeta({ reached, end, partitions: ends.length, mark: '' })
    return compared
  }

  async function compareSlice(compared: readonly Compared[], slice: Slice): Promise<void> {
    const ends = new Map(compared.map(({ partition, upTo }) => [partition, after(upTo)]))
    const folds = await foldSlice(read, ends, slice)
    for (const one of compared) {
      const folded = folds.get(one.partition) as Folded
      one.reached = folded.checkpoint
      await one.comparison?.compareSlice(slice, folded, countsOf(folded))
      // Frees memory for the next partition.
      folds.delete(one.partition)
    }
  }

  /** Finds leftover generations, partitions of a log with records but without a live one, and keys of none. */
  async function verifyKeys(): Promise<void> {
    const { findings } = verified
    const endOf = new Map(verified.partitions.map(({ partition, end }) => [partition, end]))
    const { partitions, strange } = await generations.list()
    const found = keyDifferences(partitions, endOf)
    if (found.size > 0) {
      await delay(time, RECHECK_AFTER_MS)
      const still = keyDifferences((await generations.list()).partitions, endOf)
      for (const [key, difference] of found) if (still.has(key)) addDifference(findings, difference)
    }
    for (const key of strange) addDifference(findings, { what: 'strangeKey', found: key })
  }

  /** Reads and checks the keys and the state of the live generation of a partition. */
  async function openLive(partition: Partition): Promise<Live> {
    const { live: generation, filling } = await generations.pointers(partition)
    const opened: Live = { partition, generation, state: undefined, findings: noFindings() }
    const report = reportTo(opened)
    const types = await generations.keyTypes(partition, generation)
    // Commands that read a key of another type would fail.
    const wrong = Object.entries(KEY_TYPES).filter(([key, expected]) => (types.get(key) ?? expected) !== expected)
    for (const [key, expected] of wrong)
      report({ what: 'wrongType', key: key as KeyName, expected, found: types.get(key) ?? null })
    if (wrong.length > 0) return opened
    const begun = filling === '' ? undefined : await generations.state(partition, filling)
    // A rebuild may have switched to it or abandoned it since the pointers were read.
    if (begun?.filling === filling && begun.texts.checkpoint === '')
      report({ what: 'pointerDangling', key: 'filling', found: filling })
    const state = await generations.state(partition, generation)
    expiryDifferences(state).forEach(report)
    for (const found of await generations.metaFields(partition, generation))
      if (!META_FIELDS.some((known) => known === found)) report({ what: 'strangeField', found })
    const { checkpoint, fold } = state.texts
    if (generation !== '' && checkpoint === '') report({ what: 'pointerDangling', key: 'live', found: generation })
    else if (Number(fold) > FOLD_VERSION) report({ what: 'foldVersion', expected: String(FOLD_VERSION), found: fold })
    else if (checkpoint !== '') opened.state = state
    return opened
  }

  /** Whether the findings are void because the generation is no longer live, or fell back behind what was compared. */
  async function hasMoved({ partition, generation, state }: Live): Promise<boolean> {
    const { live } = await generations.pointers(partition)
    if (live !== generation) return true
    if (state?.checkpoint === undefined) return false
    const now = await generations.state(partition, generation)
    return now.checkpoint === undefined || now.checkpoint.offset < state.checkpoint.offset
  }
}

function reportTo({ partition, generation, findings }: Live) {
  return (difference: Subject) => addDifference(findings, { partition, generation, ...difference })
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
