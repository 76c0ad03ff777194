import type { ByteWriter } from './byte-writer.ts'

/** What a record may have as its key or value. */
type Content = Buffer | string | null | undefined
type HeaderValue = Buffer | string

export type Message = {
  key?: Content
  value: Content
  headers?: Record<string, HeaderValue | readonly HeaderValue[]>
  /** In milliseconds since 1970. */
  timestamp?: string
}

const ATTRIBUTES = 0
/** Records have the same few headers again and again: the bytes of these names are made once. */
const nameBytes = new Map<string, Buffer>()
const KEPT_NAMES_MAX = 32

/**
 * Writes a record of a batch. Throws a TypeError for a header's value that is null or undefined, as kafkajs does, and for
 * anything that is neither text nor a Buffer; kafkajs would write other kinds of bytes with a wrong length. Throws a
 * RangeError for a time that is no whole number.
 */
export function writeRecord(
  to: ByteWriter,
  { key, value, headers = {} }: Message,
  offsetDelta: number,
  timestampDeltaMs: number,
): void {
  const from = to.openVarIntSize()
  to.int8(ATTRIBUTES)
  to.varLong(timestampDeltaMs)
  to.varInt(offsetDelta)
  writeNullable(to, key, 'key')
  writeNullable(to, value, 'value')
  writeHeaders(to, headers)
  to.closeVarIntSize(from)
}

function writeNullable(to: ByteWriter, content: Content, what: string): void {
  if (content === null || content === undefined) to.varInt(-1)
  else writeContent(to, content, what)
}

function writeContent(to: ByteWriter, content: HeaderValue, what: string): void {
  if (typeof content === 'string') to.varIntString(content)
  else if (Buffer.isBuffer(content)) {
    to.varInt(content.length)
    to.buffer(content)
  } else throw new TypeError(`the ${what} of a record must be a string or a Buffer`)
}

function writeHeaders(to: ByteWriter, headers: NonNullable<Message['headers']>): void {
  const names = Object.keys(headers)
  let count = names.length
  for (const name of names) {
    const value = headers[name]
    if (Array.isArray(value)) count += value.length - 1
  }
  to.varInt(count)
  for (const name of names) {
    const value = headers[name] as HeaderValue | readonly HeaderValue[]
    if (Array.isArray(value)) for (const each of value) writeHeader(to, name, each)
    else writeHeader(to, name, value as HeaderValue)
  }
}

function writeHeader(to: ByteWriter, name: string, value: HeaderValue): void {
  writeContent(to, bytesOfName(name) ?? name, 'name of a header')
  writeContent(to, value, `header ${name}`)
}

/** None when there are too many names to keep them all. */
function bytesOfName(name: string): Buffer | undefined {
  const known = nameBytes.get(name)
  if (known !== undefined || nameBytes.size === KEPT_NAMES_MAX) return known
  const bytes = Buffer.from(name)
  nameBytes.set(name, bytes)
  return bytes
}
