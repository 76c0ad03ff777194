import { type EventId, readEventId } from './event-id.ts'
import { type EventVersion, hasBytes, version1 } from './payload.ts'
import { type NewPlant, type Plant, type PlantId, parsePlantId } from './plant.ts'
import { type Offset, type Partition, partitionOf } from './position.ts'

declare const brand: unique symbol

/** The position of a request in a distributed trace: a valid `traceparent`, version 00 (W3C Trace Context, 3.2). */
export type Traceparent = string & { readonly [brand]: 'Traceparent' }

/** A record as the log stores it. */
export type StoredRecord = {
  offset: Offset
  key: Buffer | null
  value: Buffer | null
  headers: Record<string, Header>
}
/** Kafka allows a header without content. The types of kafkajs do not. */
type HeaderValue = Buffer | string | null
type Header = HeaderValue | HeaderValue[] | undefined

export type NewRecord = {
  partition: Partition
  key: Buffer
  value: Buffer
  headers: Record<string, Buffer>
}

/** A record that claims its id. `plant` is undefined when this release cannot read the payload. */
export type Claim = {
  offset: Offset
  id: PlantId
  eventId: EventId
  plant: Plant | undefined
}

/** The reasons to park a record. The read model stores the numbers: add new ones, never renumber. */
export const PARKED = {
  otherType: 1,
  badKey: 2,
  wrongPartition: 3,
  badEventId: 4,
  unknownVersion: 5,
  unreadablePayload: 6,
} as const
export type Parked = (typeof PARKED)[keyof typeof PARKED]

const REASON_TEXTS: Record<Parked, string> = {
  [PARKED.otherType]: 'its ce_type header is not PlantCreated',
  [PARKED.badKey]: 'its key is not an id in canonical decimal',
  [PARKED.wrongPartition]: 'its key belongs to another partition',
  [PARKED.badEventId]: 'its ce_id header is not an event id',
  [PARKED.unknownVersion]: 'its content-type header names a version that this release does not know; the id is claimed',
  [PARKED.unreadablePayload]: 'its payload is not a plant with this id; the id is claimed',
}

/** A record as the protocol sees it: a claim (parked as well, when it cannot be read) or a foreign record. */
export type LogRecord = { offset: Offset; claim?: Claim; parked?: Parked }

/** The `ce_source` of a store unless its settings name another one. */
export const DEFAULT_SOURCE = '/plants'

/**
 * The headers that all records of a type and a source share: CloudEvents 1.0, Kafka protocol binding, binary mode. Make
 * them once: headers are the largest part of the cost of producing an event.
 */
export const sharedHeadersOf = (type: Buffer, source: string) => ({
  ce_specversion: Buffer.from('1.0'),
  ce_source: Buffer.from(source),
  ce_type: type,
  'content-type': version1.contentType,
})
export type SharedHeaders = ReturnType<typeof sharedHeadersOf>

const TYPE = Buffer.from('PlantCreated')

/** The headers that all events of a store share. */
export const eventHeaders = (source: string): SharedHeaders => sharedHeadersOf(TYPE, source)
const DEFAULT_HEADERS = eventHeaders(DEFAULT_SOURCE)

/** Optional headers. No reader decides by them, so a retry with other values is the same event. */
export type EventContext = {
  /** Default: with the default source. */
  sharedHeaders?: SharedHeaders
  /** The time at which the event was made, in milliseconds since 1970. */
  timeMs?: number
  /** The trace, under the name that tracing libraries look for. */
  traceparent?: Traceparent | undefined
}

/** A reader for every version that was ever written, because the log is never deleted. */
const RELEASED: readonly EventVersion<Plant>[] = [version1]

/** The event that claims an id for a plant, as a record. */
export function plantCreated(
  plant: NewPlant,
  eventId: EventId,
  partitions: number,
  { sharedHeaders = DEFAULT_HEADERS, timeMs, traceparent }: EventContext = {},
): NewRecord {
  const key = Buffer.from(plant.id.toString(), 'latin1')
  const headers: NewRecord['headers'] = { ...sharedHeaders, ce_id: Buffer.from(eventId, 'latin1') }
  if (timeMs !== undefined) headers.ce_time = timeBytes(timeMs)
  if (traceparent !== undefined) headers.traceparent = Buffer.from(traceparent, 'latin1')
  return { partition: partitionOf(key, partitions), key, value: version1.write(plant.id, plant), headers }
}

let latestTime: { ms?: number; bytes: Buffer } = { bytes: Buffer.alloc(0) }

/** The time in RFC 3339. Events of the same millisecond share the bytes. */
function timeBytes(ms: number): Buffer {
  if (latestTime.ms !== ms) latestTime = { ms, bytes: Buffer.from(new Date(ms).toISOString(), 'latin1') }
  return latestTime.bytes
}

/**
 * Reads a record of one partition. Only its type, key, partition and event id decide whether it claims an id, never its
 * version or payload. A later fix of a decoder therefore cannot change which claim was first.
 */
export function readRecord(record: StoredRecord, partition: Partition, partitions: number, versions = RELEASED) {
  if (!isHeader(record.headers.ce_type, TYPE)) return { offset: record.offset, parked: PARKED.otherType }
  return readClaim(record, partition, partitions, versions)
}

/** Reads a record of any type as a claim of its id. */
export function readClaim(
  { offset, key, value, headers }: StoredRecord,
  partition: Partition,
  partitions: number,
  versions = RELEASED,
): LogRecord {
  const id = key === null ? undefined : parsePlantId(key.toString('latin1'))
  if (key === null || id === undefined) return { offset, parked: PARKED.badKey }
  if (partitionOf(key, partitions) !== partition) return { offset, parked: PARKED.wrongPartition }
  const ceId = contentOf(headers.ce_id)
  const eventId = ceId === undefined ? undefined : readEventId(ceId)
  if (eventId === undefined) return { offset, parked: PARKED.badEventId }
  const version = versions.find(({ contentType }) => isHeader(headers['content-type'], contentType))
  if (version === undefined) {
    return { offset, claim: { offset, id, eventId, plant: undefined }, parked: PARKED.unknownVersion }
  }
  const plant = value === null ? undefined : version.read(value, id, key)
  const claim = { offset, id, eventId, plant }
  return plant === undefined ? { offset, claim, parked: PARKED.unreadablePayload } : { offset, claim }
}

export function recordReader(partitions: number, versions = RELEASED) {
  return (record: StoredRecord, partition: Partition): LogRecord => readRecord(record, partition, partitions, versions)
}

/** The name of a reason. A reason that a newer release has stored has no name here. */
export function reasonName(reason: number): string {
  return Object.entries(PARKED).find(([, number]) => number === reason)?.[0] ?? `reason ${reason}`
}

/** The reason why a record is parked, as text for people. */
export function reasonText(reason: number): string {
  return REASON_TEXTS[reason as Parked] ?? `reason ${reason}, from a newer release`
}

/** True if a record parked for this reason claims its id although it cannot be read. */
export function claimsItsId(reason: number): boolean {
  return reason === (PARKED.unknownVersion as Parked) || reason === PARKED.unreadablePayload
}

/** The header's bytes; undefined when the header is absent, has no content, or occurs several times. */
export function contentOf(header: Header): Buffer | undefined {
  if (header === undefined || header === null || Array.isArray(header)) return undefined
  return typeof header === 'string' ? Buffer.from(header, 'latin1') : header
}

/** Converting each header to text costs much more. */
export function isHeader(header: Header, wanted: Buffer): boolean {
  const content = contentOf(header)
  return content?.length === wanted.length && hasBytes(content, 0, wanted)
}
