import type { KafkaMessage } from 'kafkajs'
import { type DecodedRecord, type HeaderList, headerListOf, headersOf } from '../kafka-client/fetched-records.ts'
import type { StoredRecord } from '../plant/plant-created.ts'
import { type Offset, offsetOf } from '../plant/position.ts'

/** A record with all that its producer gave it. The timestamp, in ms since 1970, is a decimal: it may have 64 bits. */
export type RawRecord = {
  offset: Offset
  timestamp: string
  key: Buffer | null
  value: Buffer | null
  headers: Readonly<HeaderList>
}

/** The record that a follower has fetched. */
export function rawRecordOf(decoded: KafkaMessage): RawRecord {
  const { offset, timestamp, key, value } = decoded
  const headers = headerListOf(decoded as KafkaMessage & DecodedRecord)
  return { offset: offsetOf(offset), timestamp, key, value, headers }
}

/** The record as a follower delivers it. */
export function storedRecordOf({ offset, key, value, headers }: RawRecord): StoredRecord {
  return { offset, key, value, headers: headersOf(headers) }
}

const RECORD_OVERHEAD_BYTES = 40

/** At least what a record takes in a batch. */
export function batchBytesOf({ key, value, headers }: RawRecord): number {
  const headerBytes = headers.reduce((sum, [name, content]) => sum + name.length + (content?.length ?? 0) + 10, 0)
  return RECORD_OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0) + headerBytes
}
