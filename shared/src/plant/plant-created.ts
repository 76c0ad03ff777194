import { type EventId, readEventId } from './event-id.ts'
import type { EventVersion } from './event-version.ts'
import type { Offset, Partition } from './offset.ts'
import { partitionOf } from './partition-of.ts'
import type { NewPlant, Plant } from './plant.ts'
import { type PlantId, parsePlantId } from './plant-id.ts'
import type { Traceparent } from './traceparent.ts'
import { version1, writeVersion1 } from './version-1.ts'

/** A record as it lies in the log. */
export type StoredRecord = {
  offset: Offset
  key: Buffer | null
  value: Buffer | null
  headers: Record<string, Header>
}
/** Kafka allows a header without content, though the types of kafkajs do not know it. */
type HeaderValue = Buffer | string | null
type Header = HeaderValue | HeaderValue[] | undefined

/** A record on its way into the log. */
export type NewRecord = {
  partition: Partition
  key: Buffer
  value: Buffer
  headers: Record<string, Buffer>
}

/** A record that claims its id; `plant` is absent when this release can't read what it says. */
export type Claim = {
  offset: Offset
  id: PlantId
  eventId: EventId
  plant: Plant | undefined
}

/** Why a record is parked. The numbers are stored in the read model: append, never renumber. */
export const PARKED = {
  otherType: 1,
  badKey: 2,
  wrongPartition: 3,
  badEventId: 4,
  unknownVersion: 5,
  unreadablePayload: 6,
} as const
export type Parked = (typeof PARKED)[keyof typeof PARKED]

/** What the protocol sees in a record: a claim (parked too, when it can't be read) or a foreign record. */
export type LogRecord = { offset: Offset; claim?: Claim; parked?: Parked }

// CloudEvents 1.0, Kafka protocol binding, binary mode. The constant ones are Buffers made once:
// headers are the largest part of what an event costs its producer.
const TYPE = Buffer.from('PlantCreated')
const CONSTANT_HEADERS = {
  ce_specversion: Buffer.from('1.0'),
  ce_source: Buffer.from('/plants'),
  ce_type: TYPE,
  'content-type': version1.contentType,
}

/** Every version that was ever written, each read as a plant: a log is kept for ever. */
const RELEASED: readonly EventVersion<Plant>[] = [version1]

/**
 * The event that claims an id for a plant, as a record. The trace is for those who look into the log: no reader here
 * decides by it, so that a retry from another trace is still the same event.
 */
export function plantCreated(
  plant: NewPlant,
  eventId: EventId,
  partitions: number,
  traceparent?: Traceparent,
): NewRecord {
  const key = Buffer.from(plant.id.toString(), 'latin1')
  const record: NewRecord = {
    partition: partitionOf(key, partitions),
    key,
    value: writeVersion1(plant),
    headers: { ...CONSTANT_HEADERS, ce_id: Buffer.from(eventId, 'latin1') },
  }
  if (traceparent !== undefined) record.headers.traceparent = Buffer.from(traceparent, 'latin1')
  return record
}

/**
 * Reads a record of one partition. Whether it claims an id depends on its type, key, place and event id
 * alone, never on its version or payload: a later fix of a decoder can't change who was first.
 */
export function readRecord(
  record: StoredRecord,
  partition: Partition,
  partitions: number,
  versions = RELEASED,
): LogRecord {
  const { offset, key, value, headers } = record
  if (!isHeader(headers.ce_type, TYPE)) return { offset, parked: PARKED.otherType }
  const id = key === null ? undefined : parsePlantId(key.toString('latin1'))
  if (key === null || id === undefined) return { offset, parked: PARKED.badKey }
  if (partitionOf(key, partitions) !== partition) return { offset, parked: PARKED.wrongPartition }
  const ceId = contentOf(headers.ce_id)
  const eventId = ceId === undefined ? undefined : readEventId(ceId)
  if (eventId === undefined) return { offset, parked: PARKED.badEventId }
  const version = versionOf(headers['content-type'], versions)
  if (version === undefined) {
    return { offset, claim: { offset, id, eventId, plant: undefined }, parked: PARKED.unknownVersion }
  }
  const plant = value === null ? undefined : version.read(value, id, key)
  const claim = { offset, id, eventId, plant }
  return plant === undefined ? { offset, claim, parked: PARKED.unreadablePayload } : { offset, claim }
}

/** Reads the records of a topic that has so many partitions. */
export function recordReader(partitions: number, versions = RELEASED) {
  return (record: StoredRecord, partition: Partition): LogRecord =>
    readRecord(record, partition, partitions, versions)
}

function versionOf(
  header: Header,
  versions: readonly EventVersion<Plant>[],
): EventVersion<Plant> | undefined {
  for (let index = 0; index < versions.length; index++) {
    const version = versions[index] as EventVersion<Plant>
    if (isHeader(header, version.contentType)) return version
  }
  return undefined
}

/** The header's bytes; undefined when it is absent, has no content, or there are several. */
function contentOf(header: Header): Buffer | undefined {
  if (header === undefined || header === null || Array.isArray(header)) return undefined
  return typeof header === 'string' ? Buffer.from(header, 'latin1') : header
}

/** Compared as bytes, one by one: to make a text of each header, or to call into Buffer, costs much more. */
function isHeader(header: Header, wanted: Buffer): boolean {
  const content = contentOf(header)
  if (content?.length !== wanted.length) return false
  for (let index = 0; index < wanted.length; index++) if (content[index] !== wanted[index]) return false
  return true
}
