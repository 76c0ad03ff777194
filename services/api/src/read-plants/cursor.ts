import { crc32 } from 'node:zlib'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'

/**
 * A place in the list: the number of plants listed so far of each partition, and the partition that comes next. The log
 * alone decides which plant has which index in its partition, so a cursor works on every instance and never expires.
 */
export type Cursor = { partition: Partition; listed: readonly number[] }

// The text is base64url of varints (seven bits per byte, lowest first, the top bit set on all but the last): version,
// number of partitions, partition, and the number of listed plants of each partition; then a CRC-32 of these bytes. A
// character lost in transit would silently omit plants. A forged cursor omits only from its own list: no signature.
const VERSION = 1
const MAX_NUMBER = 2 ** 48 - 1
const MAX_NUMBER_BYTES = 7
const CHECKSUM_BYTES = 4

export function firstCursor(partitions: number): Cursor {
  return { partition: 0 as Partition, listed: allPartitions(partitions).map(() => 0) }
}

export function encodeCursor({ partition, listed }: Cursor): string {
  const bytes: number[] = []
  for (const number of [VERSION, listed.length, partition, ...listed]) pushVarint(bytes, number)
  const checksum = Buffer.allocUnsafe(CHECKSUM_BYTES)
  checksum.writeUInt32BE(crc32(Buffer.from(bytes)))
  return Buffer.concat([Buffer.from(bytes), checksum]).toString('base64url')
}

/** Undefined for any text that `encodeCursor` does not return for a topic with this number of partitions. */
export function decodeCursor(text: string, partitions: number): Cursor | undefined {
  // The longest valid cursor has a version, two numbers and one number per partition. Longer texts are not decoded.
  const maxBytes = (3 + partitions) * MAX_NUMBER_BYTES + CHECKSUM_BYTES
  if (text.length > Math.ceil((maxBytes * 4) / 3)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  const [, , partition, ...listed] = readVarints(bytes.subarray(0, -CHECKSUM_BYTES))
  if (partition === undefined || partition >= partitions || listed.length !== partitions) return undefined
  if (listed.some((number) => number > MAX_NUMBER)) return undefined
  const cursor: Cursor = { partition: partition as Partition, listed }
  // Decoding is lenient. Comparing the text accepts one spelling per cursor, and checks version, count and checksum.
  return encodeCursor(cursor) === text ? cursor : undefined
}

function pushVarint(bytes: number[], number: number): void {
  let rest = number
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  bytes.push(rest)
}

function readVarints(bytes: Buffer): number[] {
  const numbers: number[] = []
  let number = 0
  let weight = 1
  for (const byte of bytes) {
    number += (byte & 0x7f) * weight
    weight *= 0x80
    if (byte >= 0x80) continue
    numbers.push(number)
    number = 0
    weight = 1
  }
  return numbers
}
