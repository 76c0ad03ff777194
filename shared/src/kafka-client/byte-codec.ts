// The primitive types of Kafka's protocol, and the checksum of its record batches.

export type ByteReader = ReturnType<typeof createByteReader>
export type ByteWriter = ReturnType<typeof createByteWriter>

const MORE = 0x80
const LOW_BITS = 0x7f
/** Most varints fit into 28 bits; a number holds those. */
const SHORT_BITS = 28
const MAX_VARINT_BITS = 35
const MAX_VARLONG_BITS = 70
const MAX_VARINT_BYTES = 5
const MAX_VARLONG_BYTES = 10

const INITIAL_BYTES = 64 * 1_024
/** One request may need a larger buffer, but a larger one is not kept for the next request. */
const MAX_KEPT_BYTES = 1_048_576
/** The varint of most record sizes, from 64 to 8,191 bytes, takes 2 bytes. */
const USUAL_SIZE_BYTES = 2

/** Reads values one after another. Throws a RangeError where the bytes end too early. */
export function createByteReader(bytes: Buffer) {
  let position = 0

  function byte(): number {
    const value = bytes[position++]
    if (value === undefined) throw truncated()
    return value
  }

  function uVarInt(): number {
    let value = 0
    for (let bits = 0; bits < MAX_VARINT_BITS; bits += 7) {
      const next = byte()
      value += (next & LOW_BITS) * 2 ** bits
      if (next < MORE) return value
    }
    throw new RangeError('a varint has more than 5 bytes')
  }

  /** A bigint where 28 bits are not enough. */
  function varLong(): number | bigint {
    const start = position
    let value = 0
    for (let bits = 0; bits < SHORT_BITS; bits += 7) {
      const next = byte()
      value |= (next & LOW_BITS) << bits
      if (next < MORE) return (value >>> 1) ^ -(value & 1)
    }
    position = start
    return longVarLong()
  }

  function longVarLong(): bigint {
    let value = 0n
    for (let bits = 0; bits < MAX_VARLONG_BITS; bits += 7) {
      const next = byte()
      value |= BigInt(next & LOW_BITS) << BigInt(bits)
      if (next < MORE) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
    }
    throw new RangeError('a varint has more than 64 bits')
  }

  const varInt = (): number => Number(varLong())

  /** Skips bytes and returns the position where they start. */
  function skip(length: number): number {
    const start = position
    if (length < 0 || start + length > bytes.length) throw truncated()
    position += length
    return start
  }

  const truncated = () => new RangeError(`the ${bytes.length} bytes end within a value`)

  return {
    int8: (): number => (byte() << 24) >> 24,
    int16: (): number => bytes.readInt16BE(skip(2)),
    int32: (): number => bytes.readInt32BE(skip(4)),
    int64: (): bigint => bytes.readBigInt64BE(skip(8)),
    boolean: (): boolean => byte() !== 0,
    uVarInt,
    varInt,
    varLong,
    bytes: (length: number): Buffer => bytes.subarray(skip(length), position),

    /** Null when the length, a varint, is negative. */
    varIntBytes(): Buffer | null {
      const length = varInt()
      return length < 0 ? null : bytes.subarray(skip(length), position)
    },

    varIntString(): string {
      const length = varInt()
      const start = skip(length)
      return bytes.toString('utf8', start, position)
    },

    /** A COMPACT_NULLABLE_STRING. */
    compactString(): string | null {
      const length = uVarInt() - 1
      return length < 0 ? null : bytes.toString('utf8', skip(length), position)
    },

    /** Skips these bytes and their varint length if they come next. */
    skipIf(expected: Buffer): boolean {
      const start = position
      let isNext = varInt() === expected.length
      for (let index = 0; isNext && index < expected.length; index++)
        isNext = bytes[position + index] === expected[index]
      position = isNext ? position + expected.length : start
      return isNext
    },

    position: (): number => position,
    bytesLeft: (): number => bytes.length - position,
  }
}

/**
 * Writes values one after another into one buffer that every request reuses; `finish` returns a copy. Do not await
 * between `start` and `finish`: another request would start in the same buffer.
 */
export function createByteWriter() {
  let bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES)
  let end = 0

  function makeRoom(length: number): void {
    if (end + length <= bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * bytes.length, end + length))
    larger.set(bytes.subarray(0, end))
    bytes = larger
  }

  function int16(value: number): void {
    makeRoom(2)
    end = bytes.writeInt16BE(value, end)
  }

  function int32(value: number): void {
    makeRoom(4)
    end = bytes.writeInt32BE(value, end)
  }

  /** Fills in the 4 bytes that `openSize` left free before `start`. The number may be signed or unsigned. */
  function int32Before(start: number, value: number): void {
    bytes.writeInt32BE(value | 0, start - 4)
  }

  function uVarInt(value: number): void {
    makeRoom(MAX_VARINT_BYTES)
    let rest = value
    while ((rest & ~LOW_BITS) !== 0) {
      bytes[end++] = (rest & LOW_BITS) | MORE
      rest >>>= 7
    }
    bytes[end++] = rest
  }

  const varInt = (value: number): void => uVarInt((value << 1) ^ (value >> 31))

  function longVarLong(value: bigint): void {
    makeRoom(MAX_VARLONG_BYTES)
    let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
    for (; rest > LOW_BITS; rest >>= 7n) bytes[end++] = Number(rest & 0x7fn) | MORE
    bytes[end++] = Number(rest)
  }

  /** Writes the size, as an unsigned varint, before what was written since `start`. */
  function closeVarSize(start: number, written: number): void {
    const size = end - start
    const sizeBytes = lengthOfUVarInt(written)
    makeRoom(MAX_VARINT_BYTES)
    if (sizeBytes !== USUAL_SIZE_BYTES) bytes.copyWithin(start - USUAL_SIZE_BYTES + sizeBytes, start, end)
    end = start - USUAL_SIZE_BYTES
    uVarInt(written)
    end += size
  }

  /** Without its length. */
  function text(value: string, length: number): void {
    makeRoom(length)
    end += bytes.write(value, end)
  }

  return {
    start(): void {
      end = 0
    },

    int8(value: number): void {
      makeRoom(1)
      bytes[end++] = value
    },

    int16,

    int32,

    /** The lowest 64 bits. */
    int64(value: bigint): void {
      makeRoom(8)
      end = bytes.writeBigInt64BE(BigInt.asIntN(64, value), end)
    },

    uVarInt,

    varInt,

    /** Throws a RangeError for a number that is not an integer. */
    varLong(value: number | bigint): void {
      if (typeof value === 'number' && (value | 0) === value) varInt(value)
      else longVarLong(BigInt(value))
    },

    /** A NULLABLE_STRING: its length takes 2 bytes, and the length of null is -1. */
    string(value: string | null): void {
      const length = value === null ? -1 : Buffer.byteLength(value)
      int16(length)
      if (value !== null) text(value, length)
    },

    /** A COMPACT_NULLABLE_STRING. */
    compactString(value: string | null): void {
      const length = value === null ? -1 : Buffer.byteLength(value)
      uVarInt(length + 1)
      if (value !== null) text(value, length)
    },

    /** Without its length. */
    buffer(value: Buffer): void {
      const length = value.length
      makeRoom(length)
      bytes.set(value, end)
      end += length
    },

    /** Leaves 4 bytes free for a size and returns the position after them. */
    openSize(): number {
      int32(0)
      return end
    },

    /** Fills in the size of everything written since `openSize` returned `start`. */
    closeSize(start: number): void {
      int32Before(start, end - start)
    },

    int32Before,

    /** As `openSize`, for a size that is a varint. */
    openVarSize(): number {
      makeRoom(USUAL_SIZE_BYTES)
      end += USUAL_SIZE_BYTES
      return end
    },

    closeVarIntSize(start: number): void {
      closeVarSize(start, (end - start) << 1)
    },

    /** For COMPACT_BYTES and COMPACT_RECORDS. */
    closeCompactSize(start: number): void {
      closeVarSize(start, end - start + 1)
    },

    /** Valid until the next write. */
    writtenFrom: (start: number): Buffer => bytes.subarray(start, end),

    /** Returns a copy of everything written since `start`. */
    finish(): Buffer {
      const copy = Buffer.from(bytes.subarray(0, end))
      if (bytes.length > MAX_KEPT_BYTES) bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES)
      return copy
    },
  }
}

function lengthOfUVarInt(positive: number): number {
  const bits = 32 - Math.clz32(positive)
  return Math.max(1, Math.ceil(bits / 7))
}

// Flexible versions (KIP-482) have compact arrays and tagged fields. A header's tagged fields come after the header
// that kafkajs writes and reads, so here they come before the body.

/** Each item takes at least one byte. Without this check a damaged count would be read for hours. */
function assertEnoughBytes(reader: ByteReader, count: number): void {
  const left = reader.bytesLeft()
  if (count > left) throw new RangeError(`${count} items of a response have ${left} bytes`)
}

/** Reads a value of a response. */
export type Type<T> = (reader: ByteReader) => T

export const int16: Type<number> = (reader) => reader.int16()
export const int32: Type<number> = (reader) => reader.int32()
/** As a decimal. */
export const int64: Type<string> = (reader) => reader.int64().toString()
export const boolean: Type<boolean> = (reader) => reader.boolean()
export const text: Type<string | null> = (reader) => reader.compactString()

/** A COMPACT_ARRAY; null is read as empty. */
export function array<T>(item: Type<T>): Type<T[]> {
  return (reader) => {
    const count = Math.max(0, reader.uVarInt() - 1)
    assertEnoughBytes(reader, count)
    return Array.from({ length: count }, () => item(reader))
  }
}

/** Fields in their order. The tagged fields behind them are skipped. */
export function struct<F extends Record<string, Type<unknown>>>(fields: F) {
  const inOrder = Object.entries(fields)
  return (reader: ByteReader) => {
    const values = inOrder.map(([name, field]) => [name, field(reader)])
    skipTags(reader)
    return Object.fromEntries(values) as { [Name in keyof F]: ReturnType<F[Name]> }
  }
}

function skipTags(reader: ByteReader): void {
  const count = reader.uVarInt()
  assertEnoughBytes(reader, count)
  for (let skipped = 0; skipped < count; skipped++) {
    reader.uVarInt()
    reader.bytes(reader.uVarInt())
  }
}

/** Reads a complete response. Throws a RangeError unless it ends where its bytes end. */
export function readResponse<T>(bytes: Buffer, body: Type<T>): T {
  const reader = createByteReader(bytes)
  skipTags(reader)
  const response = body(reader)
  if (reader.bytesLeft() > 0) {
    throw new RangeError(`a response of ${bytes.length} bytes was read as one of ${reader.position()}`)
  }
  return response
}

export const writeTags = (writer: ByteWriter): void => writer.uVarInt(0)

export function writeArray<T>(writer: ByteWriter, items: readonly T[], write: (item: T) => void): void {
  writer.uVarInt(items.length + 1)
  for (const item of items) write(item)
}

/** The properties of kafkajs's Encoder that it reads from an encoded request. */
export const encoderOf = (buffer: Buffer) => ({ buf: buffer, buffer })

const POLYNOMIAL = 0x82f63b78
const [TABLE_1, TABLE_2, TABLE_3, TABLE_4] = crcTables()

/** The tables for the last byte of a step, the one before it, and so on. */
function crcTables(): [Int32Array, Int32Array, Int32Array, Int32Array] {
  const first = Int32Array.from({ length: 256 }, (_, byte) => {
    let remainder = byte
    for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ POLYNOMIAL : remainder >>> 1
    return remainder
  })
  const next = (table: Int32Array) => table.map((remainder) => (first[remainder & 0xff] as number) ^ (remainder >>> 8))
  const second = next(first)
  const third = next(second)
  return [first, second, third, next(third)]
}

/**
 * CRC-32C (Castagnoli), the checksum of a record batch. It reads 4 bytes a step; reading byte by byte, as kafkajs does,
 * takes three times as long: 0.74 instead of 0.25 µs an event.
 */
export function crc32c(bytes: Uint8Array): number {
  const whole = bytes.length & ~3
  let crc = -1
  let at = 0
  for (; at < whole; at += 4) {
    crc ^=
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)
    crc =
      (TABLE_4[crc & 0xff] as number) ^
      (TABLE_3[(crc >>> 8) & 0xff] as number) ^
      (TABLE_2[(crc >>> 16) & 0xff] as number) ^
      (TABLE_1[crc >>> 24] as number)
  }
  for (; at < bytes.length; at++) crc = (TABLE_1[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8)
  return ~crc >>> 0
}
