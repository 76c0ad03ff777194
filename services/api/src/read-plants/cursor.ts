import { crc32 } from 'node:zlib'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'

/**
 * Where a client is in the list: how many plants of each partition it was given, and the partition to go on
 * with. A plant's index in its partition follows from the log, so a cursor is good on every instance and never expires.
 */
export type Cursor = { partition: Partition; given: readonly number[] }

// As text: base64url of varints (seven bits a byte, the lowest first, the top bit on all but the last):
// version, number of partitions, partition, how many were given of each; then a CRC-32 of these bytes.
const VERSION = 1
const MAX_NUMBER = 2 ** 48 - 1
const MAX_NUMBER_BYTES = 7
const CHECKSUM_BYTES = 4

export function firstCursor(partitions: number): Cursor {
  return { partition: 0 as Partition, given: allPartitions(partitions).map(() => 0) }
}

export function encodeCursor({ partition, given }: Cursor): string {
  const bytes: number[] = []
  for (const number of [VERSION, given.length, partition, ...given]) pushVarint(bytes, number)
  const checksum = Buffer.allocUnsafe(CHECKSUM_BYTES)
  checksum.writeUInt32BE(crc32(Buffer.from(bytes)))
  return Buffer.concat([Buffer.from(bytes), checksum]).toString('base64url')
}

/** Undefined for any text that `encodeCursor` does not make for a topic of so many partitions. */
export function decodeCursor(text: string, partitions: number): Cursor | undefined {
  // Nothing is decoded that could not be one: a version, two numbers and one for each partition.
  const maxBytes = (3 + partitions) * MAX_NUMBER_BYTES + CHECKSUM_BYTES
  if (text.length > Math.ceil((maxBytes * 4) / 3)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  const [, , partition, ...given] = readVarints(bytes.subarray(0, -CHECKSUM_BYTES))
  if (partition === undefined || partition >= partitions || given.length !== partitions) return undefined
  if (given.some((number) => number > MAX_NUMBER)) return undefined
  const cursor: Cursor = { partition: partition as Partition, given }
  // Decoding forgives much. Only one text stands for each cursor, and so version, count and checksum are compared, too.
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
