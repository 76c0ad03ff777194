type Content = Buffer | null
type Header = { key: string; value: Content }

/** What is used here of the Decoder and the Long of kafkajs. */
export type RecordBytes = {
  readInt8(): number
  readVarInt(): number
  readVarLong(): Long
  readVarIntBytes(): Content
  readVarIntString(): string
  readVarIntArray<T>(read: (bytes: RecordBytes) => T): T[]
}
type Long = { add(other: Long): Long; toString(): string }
type LongType = { fromValue(value: unknown): Long }

export type BatchContext = {
  firstOffset: unknown
  firstTimestamp: unknown
  magicByte: number
  isControlBatch?: boolean
  timestampType?: number
  maxTimestamp?: unknown
}

const LOG_APPEND_TIME = 1

/**
 * Decodes a record of a batch. The one in kafkajs 2.2.4 copies all earlier headers of a record for each further one, so
 * that one record of many headers, which anybody may write, stops every reader for hours; and it takes what an object
 * inherits (`constructor`) for an earlier header of that name.
 */
export const recordDecoder = (long: LongType) => (bytes: RecordBytes, batchContext: BatchContext) => {
  const { firstOffset, firstTimestamp, magicByte, isControlBatch = false } = batchContext
  const { timestampType, maxTimestamp } = batchContext
  const attributes = bytes.readInt8()
  const sentAt = long.fromValue(firstTimestamp).add(bytes.readVarLong())
  const offset = long.fromValue(firstOffset).add(long.fromValue(bytes.readVarInt()))
  return {
    magicByte,
    attributes,
    timestamp: timestampType === LOG_APPEND_TIME && maxTimestamp ? maxTimestamp : sentAt.toString(),
    offset: offset.toString(),
    key: bytes.readVarIntBytes(),
    value: bytes.readVarIntBytes(),
    headers: headersByName(bytes.readVarIntArray(readHeader)),
    isControlRecord: isControlBatch,
    batchContext,
  }
}

const readHeader = (bytes: RecordBytes): Header => ({
  key: bytes.readVarIntString(),
  value: bytes.readVarIntBytes(),
})

/** A header that comes several times is a list. */
function headersByName(headers: readonly Header[]): Record<string, Content | Content[]> {
  const byName = new Map<string, Content | Content[]>()
  for (const { key, value } of headers) {
    const earlier = byName.get(key)
    if (Array.isArray(earlier)) earlier.push(value)
    else byName.set(key, earlier === undefined ? value : [earlier, value])
  }
  // Not by assignment, which would take `__proto__` for more than a name.
  return Object.fromEntries(byName)
}
