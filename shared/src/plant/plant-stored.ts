import { version1 } from './payload.ts'
import type { Plant } from './plant.ts'
import {
  type Claim,
  contentOf,
  DEFAULT_SOURCE,
  isHeader,
  type NewRecord,
  readClaim,
  type SharedHeaders,
  type StoredRecord,
  sharedHeadersOf,
} from './plant-created.ts'
import { formatPosition, type Offset, type Partition, parsePosition } from './position.ts'

/** A plant of the table: the claim that created it. `offset` is the creation's in the log. */
export type Row = Claim & { plant: Plant }

/** A record of the table; without a row when another program has written it. */
export type TableRecord = { offset: Offset; row?: Row }

const TYPE = Buffer.from('PlantStored')

/** The headers that all rows share. Not the source of the log: an id is unique in its source. */
export const rowHeaders = (source: string): SharedHeaders => sharedHeadersOf(TYPE, `${source}/table`)
const DEFAULT_HEADERS = rowHeaders(DEFAULT_SOURCE)

/** The row as a record of the table. The same row is always the same record. */
export function plantStored(
  { id, eventId, offset, plant }: Row,
  partition: Partition,
  sharedHeaders = DEFAULT_HEADERS,
): NewRecord {
  return {
    partition,
    key: Buffer.from(id.toString(), 'latin1'),
    value: version1.write(id, plant),
    headers: {
      ...sharedHeaders,
      ce_id: Buffer.from(eventId, 'latin1'),
      ce_position: Buffer.from(formatPosition({ partition, offset }), 'latin1'),
    },
  }
}

/** Returns a reader of the records of a table with this number of partitions. */
export function tableRecordReader(partitions: number) {
  return (record: StoredRecord, partition: Partition): TableRecord => {
    const { offset, headers } = record
    const position = contentOf(headers.ce_position)?.toString('latin1')
    const created = position === undefined ? undefined : parsePosition(position, partitions)
    if (!isHeader(headers.ce_type, TYPE) || created?.partition !== partition) return { offset }
    const { claim } = readClaim({ ...record, offset: created.offset }, partition, partitions)
    return claim?.plant === undefined ? { offset } : { offset, row: { ...claim, plant: claim.plant } }
  }
}
