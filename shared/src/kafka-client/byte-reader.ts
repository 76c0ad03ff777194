export type ByteReader = ReturnType<typeof createByteReader>

const MORE = 0x80
const LOW_BITS = 0x7f
/** What fits into 28 bits takes no more, and most varints are of these. */
const SHORT_BITS = 28
const LONGEST_BITS = 70

/** Reads values as Kafka's protocol has them, one after another. Throws a RangeError where the bytes end too early. */
export function createByteReader(bytes: Buffer) {
  let at = 0

  function byte(): number {
    const value = bytes[at++]
    if (value === undefined) throw cut()
    return value
  }

  /** A bigint where 28 bits are not enough. */
  function varLong(): number | bigint {
    const from = at
    let value = 0
    for (let bits = 0; bits < SHORT_BITS; bits += 7) {
      const next = byte()
      value |= (next & LOW_BITS) << bits
      if (next < MORE) return (value >>> 1) ^ -(value & 1)
    }
    at = from
    return longVarLong()
  }

  function longVarLong(): bigint {
    let value = 0n
    for (let bits = 0; bits < LONGEST_BITS; bits += 7) {
      const next = byte()
      value |= BigInt(next & LOW_BITS) << BigInt(bits)
      if (next < MORE) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
    }
    throw new RangeError('a number of a record has more than 64 bits')
  }

  const varInt = (): number => Number(varLong())

  /** Goes past so many bytes, and returns where they begin. */
  function pass(length: number): number {
    const from = at
    if (length < 0 || from + length > bytes.length) throw cut()
    at += length
    return from
  }

  const cut = () => new RangeError(`the ${bytes.length} bytes of records end within one`)

  return {
    int8: (): number => (byte() << 24) >> 24,

    varInt,

    varLong,

    /** With their length before them; null when that is negative. */
    varIntBytes(): Buffer | null {
      const length = varInt()
      return length < 0 ? null : bytes.subarray(pass(length), at)
    },

    /** With its length before it. */
    varIntString(): string {
      const length = varInt()
      const from = pass(length)
      return bytes.toString('utf8', from, at)
    },

    /** Goes past these bytes and their length, if they are what comes next. */
    passIf(expected: Buffer): boolean {
      const from = at
      let isNext = varInt() === expected.length
      for (let index = 0; isNext && index < expected.length; index++)
        isNext = bytes[at + index] === expected[index]
      at = isNext ? at + expected.length : from
      return isNext
    },

    at: (): number => at,
  }
}
