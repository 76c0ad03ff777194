import { isUtf8 } from 'node:buffer'
import type { RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import { offsetOf } from '@plant-store/shared/plant/position.ts'

/** Bytes that are UTF-8 are text, so that people and other programs can read a backup. */
type Content = string | { base64: string } | null
type Line = {
  offset: number
  timestamp: number | string
  key: Content
  value: Content
  headers: [Exclude<Content, null>, Content][]
}

/** A record as a line of JSON. The same record gives the same line. */
export function lineOf({ offset, timestamp, key, value, headers }: RawRecord): string {
  const ms = Number(timestamp)
  const line: Line = {
    offset,
    timestamp: Number.isSafeInteger(ms) ? ms : timestamp,
    key: nullable(key, contentOf),
    value: nullable(value, contentOf),
    headers: headers.map(([name, content]) => [contentOf(name), nullable(content, contentOf)]),
  }
  return `${JSON.stringify(line)}\n`
}

export function recordOf(text: string): RawRecord {
  const { offset, timestamp, key, value, headers }: Line = JSON.parse(text)
  return {
    offset: offsetOf(offset),
    timestamp: String(timestamp),
    key: nullable(key, bytesOf),
    value: nullable(value, bytesOf),
    headers: headers.map(([name, content]) => [bytesOf(name), nullable(content, bytesOf)]),
  }
}

const nullable = <A, B>(one: A | null, convert: (one: A) => B): B | null => (one === null ? null : convert(one))

const contentOf = (bytes: Buffer) => (isUtf8(bytes) ? bytes.toString() : { base64: bytes.toString('base64') })

const bytesOf = (content: Exclude<Content, null>) =>
  typeof content === 'string' ? Buffer.from(content) : Buffer.from(content.base64, 'base64')
