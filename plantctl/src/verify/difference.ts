import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount } from '@plant-store/shared/runtime/format.ts'
import type { KEY_TYPES } from '@plant-store/shared/status/read-status.ts'
import { safeText } from '../terminal/safe-text.ts'

const LINE_CHARACTERS = 1_000

export type Counts = Record<'plants' | 'voids' | 'parked', number>

export type KeyName = keyof typeof KEY_TYPES

/** The details of a difference. Each kind has the properties that its text shows. */
type Details = {
  /** Ids and offsets are the texts of the read model, which may be invalid. */
  id?: string
  offset?: Offset | string
  field?: string
  key?: KeyName
  of?: keyof Counts
  after?: string
  expected?: string | null
  found?: string | null
  end?: Offset
  plants?: number
}

/** A difference within one generation, or one partition of the table. */
export type Subject = Details & { what: keyof typeof TEXTS }

/** One difference between the read model, or the table, and the fold of the log. */
export type Difference = Subject & {
  /** Absent for a key that belongs to no partition. */
  partition?: Partition
  /** Absent for the table. */
  generation?: string
}

const TEXTS = {
  entryMissing: ({ id, expected }) => `plant ${id} is missing: the log has ${expected}`,
  entryExtra: ({ id, found }) => `plant ${id} is not in the log: the read model has ${found}`,
  entryUndecodable: ({ id, expected }) => `plant ${id} has an invalid entry: the log has ${expected}`,
  entryChanged: (one) => `plant ${one.id} has another ${one.field}: ${expectedAndFound(one)}`,
  orderMissing: ({ id }) => `plant ${id} is missing from the order`,
  orderExtra: ({ id }) => `${id} is in the order, but the log has no such plant`,
  orderRepeated: ({ id }) => `plant ${id} is in the order more than once`,
  orderMisplaced: ({ id, after }) => `plant ${id} is listed right after plant ${after}, which has a later offset`,
  parkedMissing: ({ offset, expected }) => `offset ${offset} is not parked: expected with reason ${expected}`,
  parkedExtra: ({ offset, found }) =>
    `offset ${offset} is parked with reason ${found}: the log has nothing to park there`,
  parkedReason: (one) => `offset ${one.offset} is parked with another reason: ${expectedAndFound(one)}`,
  /** It is not an offset, or the log ends before it. */
  checkpoint: (one) => `the checkpoint is not an offset of this log: ${expectedAndFound(one)}`,
  checkpointEvent: (one) => `another event at checkpoint ${one.offset}: ${expectedAndFound(one)}`,
  strangeField: ({ found }) => `key meta has a field ${JSON.stringify(found)} that no release writes`,
  foldVersion: (one) => `another fold version: ${expectedAndFound(one)}`,
  partitionCount: (one) => `folded with another number of partitions: ${expectedAndFound(one)}`,
  mark: (one) => `another mark of a rebuild: ${expectedAndFound(one)}`,
  count: (one) => `the count of ${one.of} is wrong: ${expectedAndFound(one)}`,
  /** Only if no difference of the key's fields explains it. */
  size: (one) => `key ${one.of} has the wrong size: ${expectedAndFound(one)}`,
  pointerDangling: ({ key, found }) => `pointer ${key} names generation ${found}, which does not exist`,
  expiry: ({ key, found }) => `key ${key} expires in ${found} ms`,
  wrongType: (one) => `key ${one.key} has the wrong type: ${expectedAndFound(one)}`,
  leftover: ({ found }) => `leftover keys of generation ${found}, which is neither live nor being filled`,
  /** Nothing is live although the log has records; `end` is its next offset. */
  noGeneration: ({ end = 0 }) => `nothing is live, but the log has records up to offset ${end - 1}`,
  /** With this topic's prefix. */
  strangeKey: ({ found }) => `key ${found} belongs to no partition or generation`,
  rowMissing: ({ id, expected }) => `plant ${id} is missing: the log has ${expected}`,
  rowExtra: ({ id, found }) => `plant ${id} is not in the log: the table has ${found}`,
  rowChanged: (one) => `plant ${one.id} has another ${one.field}: ${expectedAndFound(one)}`,
  /** `offset` is that in the table. */
  rowForeign: ({ offset }) => `the record at offset ${offset} is no row`,
  /** No projector writes them. */
  rowsBehind: ({ plants = 0 }) =>
    `${formatCount(plants, 'plant')} of the log not in the table: is a projector running with this PLANTS_TABLE?`,
} satisfies Record<string, (one: Details) => string>

/** As one line of text that is safe for a terminal. */
export function formatDifference(difference: Difference): string {
  const { partition, generation, what } = difference
  const within = generation === undefined ? ' of the table' : `, generation ${generation || '(none)'}`
  const text = TEXTS[what](difference)
  return safeText(partition === undefined ? text : `partition ${partition}${within}: ${text}`, LINE_CHARACTERS)
}

function expectedAndFound({ expected, found }: Details): string {
  return `expected ${shown(expected)}, found ${shown(found)}`
}

const shown = (text: string | null | undefined) => (text === null ? 'none' : JSON.stringify(text))

/** The differences found: the first ones, the number of others, and of all the first one of each kind by partition. */
export type Findings = { listed: Difference[]; more: number; kinds: Map<string, Difference> }

/** With more differences than this a rebuild is needed, whatever they are. */
const DIFFERENCES_LISTED_MAX = 100_000

export function noFindings(): Findings {
  return { listed: [], more: 0, kinds: new Map() }
}

export function addDifference(findings: Findings, difference: Difference, listedMax = DIFFERENCES_LISTED_MAX): void {
  addKind(findings, difference)
  if (findings.listed.length < listedMax) findings.listed.push(difference)
  else findings.more++
}

function addKind({ kinds }: Findings, difference: Difference): void {
  const { partition, what, key } = difference
  const kind = [partition, what, key].join()
  if (!kinds.has(kind)) kinds.set(kind, difference)
}

/** Adds the findings of another comparison. */
export function addFindings(findings: Findings, { listed, more, kinds }: Findings): void {
  for (const difference of listed) addDifference(findings, difference)
  for (const difference of kinds.values()) addKind(findings, difference)
  findings.more += more
}
