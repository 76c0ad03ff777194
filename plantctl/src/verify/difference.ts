import type { Plant } from '@plant-store/shared/plant/plant.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount } from '@plant-store/shared/runtime/format.ts'

/** A field of an entry, or whether the entry can be read at all. */
export type EntryField = 'eventId' | 'offset' | 'readable' | keyof Plant

export type Counted = 'plants' | 'voids' | 'parked'

/** A pointer, or a key of a generation. */
export type KeyName = 'live' | 'filling' | 'meta' | 'plants' | 'order' | 'parked'

/** Ids and offsets are the texts of the read model, which may be invalid. */
type EntryDifference =
  | { what: 'entryMissing'; id: string; expected: string }
  | { what: 'entryExtra'; id: string; found: string }
  | { what: 'entryUndecodable'; id: string; expected: string }
  | { what: 'entryChanged'; id: string; field: EntryField; expected: string | null; found: string | null }

type OrderDifference =
  | { what: 'orderMissing'; id: string }
  | { what: 'orderExtra'; id: string }
  | { what: 'orderRepeated'; id: string }
  /** It is listed right after a plant that was created later. */
  | { what: 'orderMisplaced'; id: string; after: string }

type ParkedDifference =
  | { what: 'parkedMissing'; offset: string; expected: string }
  | { what: 'parkedExtra'; offset: string; found: string }
  | { what: 'parkedReason'; offset: string; expected: string; found: string }

type MetaDifference =
  /** It is not an offset, or the log ends before it. */
  | { what: 'checkpoint'; expected: string; found: string }
  | { what: 'checkpointEvent'; offset: Offset; expected: string; found: string }
  | { what: 'strangeField'; found: string }
  | { what: 'foldVersion' | 'partitionCount' | 'mark'; expected: string; found: string }
  | { what: 'count'; of: Counted; expected: string; found: string }
  /** The size of a key, where no difference of its fields explains it. */
  | { what: 'size'; of: 'plants' | 'parked'; expected: string; found: string }

type KeyDifference =
  | { what: 'pointerDangling'; key: 'live' | 'filling'; found: string }
  | { what: 'expiry'; key: KeyName; found: string }
  | { what: 'wrongType'; key: KeyName; expected: string; found: string }
  /** Keys of a generation that is neither live nor being filled. */
  | { what: 'leftover'; found: string }
  /** Nothing is live although the log has records; `end` is its next offset. */
  | { what: 'noGeneration'; end: Offset }

/** `offset` is that in the table. */
export type RowDifference =
  | { what: 'rowMissing'; id: string; expected: string }
  | { what: 'rowExtra'; id: string; found: string }
  | { what: 'rowChanged'; id: string; field: EntryField; expected: string | null; found: string | null }
  | { what: 'rowForeign'; offset: Offset }
  /** No projector writes them. */
  | { what: 'rowsBehind'; plants: number }

/** One difference between the read model, or the table, and the fold of the log. */
export type Difference =
  | ({ partition: Partition; generation: string } & (
      | EntryDifference
      | OrderDifference
      | ParkedDifference
      | MetaDifference
      | KeyDifference
    ))
  | ({ partition: Partition } & RowDifference)
  /** A key with this topic's prefix that belongs to no partition or generation. */
  | { what: 'strangeKey'; found: string }

/** A difference within one generation. */
export type GenerationDifference = DistributiveOmit<
  Extract<Difference, { generation: string }>,
  'partition' | 'generation'
>

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** A difference as one line of text. */
export function formatDifference(difference: Difference): string {
  if (difference.what === 'strangeKey') return `key ${difference.found} belongs to no partition or generation`
  if (!('generation' in difference)) return `partition ${difference.partition} of the table: ${describeRow(difference)}`
  return `partition ${difference.partition}, generation ${difference.generation || '(none)'}: ${describeDifference(difference)}`
}

function describeDifference(one: GenerationDifference): string {
  switch (one.what) {
    case 'entryMissing':
      return `plant ${one.id} is missing: the log has ${one.expected}`
    case 'entryExtra':
      return `plant ${one.id} is not in the log: the read model has ${one.found}`
    case 'entryUndecodable':
      return `plant ${one.id} has an invalid entry: the log has ${one.expected}`
    case 'entryChanged':
      return `plant ${one.id} has another ${one.field}: ${expectedAndFound(one)}`
    case 'orderMissing':
      return `plant ${one.id} is missing from the order`
    case 'orderExtra':
      return `${one.id} is in the order, but the log has no such plant`
    case 'orderRepeated':
      return `plant ${one.id} is in the order more than once`
    case 'orderMisplaced':
      return `plant ${one.id} is listed right after plant ${one.after}, which was created later`
    case 'parkedMissing':
      return `offset ${one.offset} is not parked: expected with reason ${one.expected}`
    case 'parkedExtra':
      return `offset ${one.offset} is parked with reason ${one.found}: the log has nothing to park there`
    case 'parkedReason':
      return `offset ${one.offset} is parked with another reason: ${expectedAndFound(one)}`
    case 'checkpoint':
      return `the checkpoint is not an offset of this log: ${expectedAndFound(one)}`
    case 'checkpointEvent':
      return `another event at checkpoint ${one.offset}: ${expectedAndFound(one)}`
    case 'strangeField':
      return `key meta has a field ${JSON.stringify(one.found)} that no release writes`
    case 'foldVersion':
      return `another fold version: ${expectedAndFound(one)}`
    case 'partitionCount':
      return `folded with another number of partitions: ${expectedAndFound(one)}`
    case 'mark':
      return `another mark of a rebuild: ${expectedAndFound(one)}`
    case 'count':
      return `the count of ${one.of} is wrong: ${expectedAndFound(one)}`
    case 'size':
      return `key ${one.of} has the wrong size: ${expectedAndFound(one)}`
    case 'pointerDangling':
      return `pointer ${one.key} names generation ${one.found}, which does not exist`
    case 'expiry':
      return `key ${one.key} expires in ${one.found} ms`
    case 'wrongType':
      return `key ${one.key} has the wrong type: ${expectedAndFound(one)}`
    case 'leftover':
      return `leftover keys of generation ${one.found}, which is neither live nor being filled`
    case 'noGeneration':
      return `nothing is live, but the log has records up to offset ${one.end - 1}`
  }
}

function describeRow(one: RowDifference): string {
  switch (one.what) {
    case 'rowMissing':
      return `plant ${one.id} is missing: the log has ${one.expected}`
    case 'rowExtra':
      return `plant ${one.id} is not in the log: the table has ${one.found}`
    case 'rowChanged':
      return `plant ${one.id} has another ${one.field}: ${expectedAndFound(one)}`
    case 'rowForeign':
      return `the record at offset ${one.offset} is no row`
    case 'rowsBehind':
      return `${formatCount(one.plants, 'plant')} of the log not in the table: is a projector running with this PLANTS_TABLE?`
  }
}

function expectedAndFound({ expected, found }: { expected: string | null; found: string | null }): string {
  return `expected ${shown(expected)}, found ${shown(found)}`
}

const shown = (text: string | null) => (text === null ? 'none' : JSON.stringify(text))

/** The differences found: the first ones, and the number of others. */
export type Findings = { listed: Difference[]; more: number }

/** With more differences than this a rebuild is needed, whatever they are. */
const DIFFERENCES_LISTED_MAX = 100_000

export function noFindings(): Findings {
  return { listed: [], more: 0 }
}

export function addDifference(findings: Findings, difference: Difference, listedMax = DIFFERENCES_LISTED_MAX): void {
  if (findings.listed.length < listedMax) findings.listed.push(difference)
  else findings.more++
}

/** Adds the findings of another comparison. */
export function addFindings(findings: Findings, { listed, more }: Findings, listedMax = DIFFERENCES_LISTED_MAX): void {
  for (const difference of listed) addDifference(findings, difference, listedMax)
  findings.more += more
}

export function countOf({ listed, more }: Findings): number {
  return listed.length + more
}
