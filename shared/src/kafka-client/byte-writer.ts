export type ByteWriter = ReturnType<typeof createByteWriter>

const FIRST_BYTES = 64 * 1_024
/** One request may take more than this, but no more is kept for those after it. */
const MAX_KEPT_BYTES = 1_048_576
const MAX_VARINT_BYTES = 5
const MAX_VARLONG_BYTES = 10
/** Of the size of a record as most have it, which is from 64 to 8,191 bytes. */
const USUAL_SIZE_BYTES = 2
/** Up to so many a loop is faster than a call. */
const SHORT_BYTES = 48
const MORE = 0x80
const LOW_BITS = 0x7f

/**
 * Writes values as Kafka's protocol has them, one after another into one buffer that is used again for the next request;
 * `taken` gives a copy. Who writes must not wait for anything between `begin` and `taken`: others begin meanwhile.
 */
export function createByteWriter() {
  let bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
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

  /** A number that `openSize` left out, signed or not. */
  function int32Before(from: number, value: number): void {
    bytes.writeInt32BE(value | 0, from - 4)
  }

  /** Of 32 bits without a sign. */
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

  function wideVarInt(value: bigint): void {
    makeRoom(MAX_VARLONG_BYTES)
    let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
    for (; rest > LOW_BITS; rest >>= 7n) bytes[end++] = Number(rest & 0x7fn) | MORE
    bytes[end++] = Number(rest)
  }

  /** Without its length. */
  function text(value: string, length: number): void {
    makeRoom(length)
    end += bytes.write(value, end)
  }

  return {
    begin(): void {
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

    /** Throws a RangeError for what is no whole number. */
    varLong(value: number): void {
      if ((value | 0) === value) varInt(value)
      else wideVarInt(BigInt(value))
    },

    /** With its length in two bytes; null has the length -1. */
    string(value: string | null): void {
      const length = value === null ? -1 : Buffer.byteLength(value)
      int16(length)
      if (value !== null) text(value, length)
    },

    varIntString(value: string): void {
      const length = Buffer.byteLength(value)
      varInt(length)
      text(value, length)
    },

    /** Without its length. */
    buffer(value: Buffer): void {
      const length = value.length
      makeRoom(length)
      if (length > SHORT_BYTES) bytes.set(value, end)
      else for (let index = 0; index < length; index++) bytes[end + index] = value[index] as number
      end += length
    },

    /** Leaves room for the four bytes before what comes next, and returns where that begins. */
    openSize(): number {
      int32(0)
      return end
    },

    /** Has the size of what was written since `openSize` stand before it. */
    closeSize(from: number): void {
      int32Before(from, end - from)
    },

    int32Before,

    /** As `openSize`, for a size that is a varint. */
    openVarIntSize(): number {
      makeRoom(USUAL_SIZE_BYTES)
      end += USUAL_SIZE_BYTES
      return end
    },

    closeVarIntSize(from: number): void {
      const size = end - from
      const sizeBytes = bytesOfVarInt(size)
      makeRoom(MAX_VARINT_BYTES)
      if (sizeBytes !== USUAL_SIZE_BYTES) bytes.copyWithin(from - USUAL_SIZE_BYTES + sizeBytes, from, end)
      end = from - USUAL_SIZE_BYTES
      varInt(size)
      end += size
    },

    /** Valid until something more is written. */
    writtenFrom: (from: number): Buffer => bytes.subarray(from, end),

    /** A copy of all that was written since `begin`. */
    taken(): Buffer {
      const copy = Buffer.from(bytes.subarray(0, end))
      if (bytes.length > MAX_KEPT_BYTES) bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
      return copy
    },
  }
}

function bytesOfVarInt(positive: number): number {
  const bits = 33 - Math.clz32(positive)
  return Math.ceil(bits / 7)
}
