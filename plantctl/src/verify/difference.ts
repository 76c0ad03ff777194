import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'

/** A field of an entry, or whether the entry can be read at all. */
export type EntryField = 'eventId' | 'offset' | 'readable' | 'name' | 'tag'

export type Counted = 'plants' | 'voids' | 'parked'

/** What a key of a generation, or a pointer, is called. */
export type KeyName = 'live' | 'filling' | 'meta' | 'plants' | 'order' | 'parked'

/** Ids and offsets are told as the read model has them, which may be no id or offset at all. */
type EntryDifference =
  | { what: 'entryMissing'; id: string; expected: string }
  | { what: 'entryExtra'; id: string; found: string }
  | { what: 'entryUndecodable'; id: string; expected: string }
  | { what: 'entryChanged'; id: string; field: EntryField; expected: string | null; found: string | null }

type OrderDifference =
  | { what: 'orderMissing'; id: string }
  | { what: 'orderExtra'; id: string }
  | { what: 'orderRepeated'; id: string }
  /** It is listed right after one that was created later. */
  | { what: 'orderMisplaced'; id: string; after: string }

type ParkedDifference =
  | { what: 'parkedMissing'; offset: string; expected: string }
  | { what: 'parkedExtra'; offset: string; found: string }
  | { what: 'parkedReason'; offset: string; expected: string; found: string }

type MetaDifference =
  /** It is no offset, or the log ends before it. */
  | { what: 'checkpoint'; expected: string; found: string }
  | { what: 'checkpointEvent'; offset: Offset; expected: string; found: string }
  | { what: 'strangeField'; found: string }
  | { what: 'foldVersion' | 'partitionCount' | 'mark'; expected: string; found: string }
  | { what: 'count'; of: Counted; expected: string; found: string }
  /** How much a key holds, where the differences of what it holds do not tell it. */
  | { what: 'size'; of: 'plants' | 'parked'; expected: string; found: string }

type KeyDifference =
  | { what: 'pointerDangling'; key: 'live' | 'filling'; found: string }
  | { what: 'expiry'; key: KeyName; found: string }
  | { what: 'wrongType'; key: KeyName; expected: string; found: string }
  /** Keys of a generation that is neither live nor being filled. */
  | { what: 'leftover'; found: string }
  /** Nothing is live, though the log has records: its next offset is this. */
  | { what: 'noGeneration'; end: Offset }

/** One thing in which the read model is not the fold of the log. */
export type Difference =
  | ({ partition: Partition; generation: string } & (
      | EntryDifference
      | OrderDifference
      | ParkedDifference
      | MetaDifference
      | KeyDifference
    ))
  /** A key under this topic's name that belongs to no partition or generation. */
  | { what: 'strangeKey'; found: string }

/** What a difference is about, of one generation. */
export type GenerationDifference = DistributiveOmit<
  Exclude<Difference, { what: 'strangeKey' }>,
  'partition' | 'generation'
>

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** A difference in one line. */
export function differenceInWords(difference: Difference): string {
  if (difference.what === 'strangeKey') return `key ${difference.found} belongs to no partition or generation`
  return `partition ${difference.partition}, generation ${difference.generation || '(none)'}: ${subject(difference)}`
}

function subject(told: GenerationDifference): string {
  switch (told.what) {
    case 'entryMissing':
      return `plant ${told.id} is missing: the log has ${told.expected}`
    case 'entryExtra':
      return `plant ${told.id} is not in the log: the read model has ${told.found}`
    case 'entryUndecodable':
      return `plant ${told.id} has bytes that are no entry: the log has ${told.expected}`
    case 'entryChanged':
      return `plant ${told.id} has another ${told.field}: ${expectedAndFound(told)}`
    case 'orderMissing':
      return `plant ${told.id} is missing in the order`
    case 'orderExtra':
      return `${told.id} is in the order, but the log has no such plant`
    case 'orderRepeated':
      return `plant ${told.id} is in the order more than once`
    case 'orderMisplaced':
      return `plant ${told.id} is listed right after plant ${told.after}, which was created later`
    case 'parkedMissing':
      return `offset ${told.offset} is not parked: expected with reason ${told.expected}`
    case 'parkedExtra':
      return `offset ${told.offset} is parked with reason ${told.found}: nothing is to be parked there`
    case 'parkedReason':
      return `offset ${told.offset} is parked with another reason: ${expectedAndFound(told)}`
    case 'checkpoint':
      return `the checkpoint is no offset of this log: ${expectedAndFound(told)}`
    case 'checkpointEvent':
      return `another event at checkpoint ${told.offset}: ${expectedAndFound(told)}`
    case 'strangeField':
      return `key meta has a field ${JSON.stringify(told.found)} that means nothing`
    case 'foldVersion':
      return `another fold version: ${expectedAndFound(told)}`
    case 'partitionCount':
      return `folded from a topic of another size: ${expectedAndFound(told)}`
    case 'mark':
      return `a mark of a verification: ${expectedAndFound(told)}`
    case 'count':
      return `another count of ${told.of}: ${expectedAndFound(told)}`
    case 'size':
      return `key ${told.of} holds another number: ${expectedAndFound(told)}`
    case 'pointerDangling':
      return `pointer ${told.key} names ${told.found}, which is not there`
    case 'expiry':
      return `key ${told.key} expires in ${told.found} ms; no key should`
    case 'wrongType':
      return `key ${told.key} is of another type: ${expectedAndFound(told)}`
    case 'leftover':
      return `keys of generation ${told.found}, which is neither live nor being filled`
    case 'noGeneration':
      return `the read model serves nothing of it, though the log has records up to offset ${told.end - 1}`
  }
}

function expectedAndFound({ expected, found }: { expected: string | null; found: string | null }): string {
  return `expected ${shown(expected)}, found ${shown(found)}`
}

const shown = (text: string | null) => (text === null ? 'none' : JSON.stringify(text))
