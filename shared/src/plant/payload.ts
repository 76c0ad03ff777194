import { isUtf8 } from 'node:buffer'
import { MAX_TEXT_CODE_POINTS, type NewPlant, type Plant, type PlantId, plantOf } from './plant.ts'

// docs/reference/events.md specifies version 1. It never changes: what is readable here is readable in every release.

/** A version of the event, with the reader of its payload. */
export type EventVersion<Content> = {
  /** The whole value of its `content-type` header. */
  contentType: Buffer
  /** Reads a payload for this id, whose canonical text is `key`. Returns undefined for what is not of this version. */
  read(payload: Buffer, id: PlantId, key: Buffer): Content | undefined
}

/** Maximum nesting depth of a payload. Parsers of other languages have other limits; all accept this one. */
const MAX_DEPTH = 64
const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

export const version1: EventVersion<Plant> = {
  contentType: Buffer.from('application/json; version=1'),
  read: (payload, id, key) => readCanonical(payload, key) ?? readJson(payload, id),
}

/** The id is a JSON string because parsers of many languages lose digits of an int64 in a JSON number. */
export function writeVersion1({ id, name, tag }: NewPlant): Buffer {
  return Buffer.from(JSON.stringify({ id: id.toString(), name, tag }))
}

/**
 * Reads older versions as the next one: `[...upcast(olderVersions, toNext), next]` are all versions, read as the
 * newest. An upcast is pure and always succeeds: the contract of the new version defines what an old payload lacks.
 */
export function upcast<Old, New>(
  versions: readonly EventVersion<Old>[],
  toNext: (old: Old) => New,
): EventVersion<New>[] {
  return versions.map(({ contentType, read }) => ({
    contentType,
    read(payload, id, key) {
      const old = read(payload, id, key)
      return old === undefined ? undefined : toNext(old)
    },
  }))
}

/**
 * The nesting depth of a JSON text and the number of members in its objects, counted by punctuation. Unlike the parsed
 * value, the text also shows a repeated key.
 */
export function jsonStructureOf(text: Uint8Array): { depth: number; members: number } {
  let open = 0
  let depth = 0
  let members = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === COLON) members++
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth = Math.max(depth, ++open)
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) open--
  }
  return { depth, members }
}

function readJson(bytes: Buffer, id: PlantId): Plant | undefined {
  // Decoding invalid UTF-8 would put U+FFFD where the writer had something else: an invented plant.
  if (!isUtf8(bytes)) return undefined
  const text = bytes.toString()
  let payload: unknown
  try {
    payload = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof payload !== 'object' || payload === null || isTooDeep(bytes, text)) return undefined
  const { id: payloadId, name, tag } = payload as Record<string, unknown>
  if (payloadId !== id.toString() || !isText(name)) return undefined
  if (tag === undefined) return plantOf({ name })
  return isText(tag) ? plantOf({ name, tag }) : undefined
}

function isText(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 2 * MAX_TEXT_CODE_POINTS || !value.isWellFormed()) return false
  return value.length <= MAX_TEXT_CODE_POINTS || Array.from(value).length <= MAX_TEXT_CODE_POINTS
}

/** Looks at the text, not at the parsed value: of several equal keys, the parser keeps only the last. */
function isTooDeep(json: Buffer, text: string): boolean {
  // Most payloads are too short for that, and most of the others are one object without nesting.
  if (json.length <= 2 * MAX_DEPTH) return false
  if (!text.includes('[') && !text.includes('{', text.indexOf('{') + 1)) return false
  return jsonStructureOf(json).depth > MAX_DEPTH
}

// The canonical payload is what `writeVersion1` writes for texts in ASCII without characters to escape:
// {"id":"7","name":"Fern"} or {"id":"7","name":"Fern","tag":"shade"}. Almost all payloads are of this form. Reading it
// byte by byte takes a quarter of the time of the UTF-8 check, the JSON parser and the checks of its result.
const BEFORE_ID = Buffer.from('{"id":"')
const BEFORE_NAME = Buffer.from('","name":"')
const BEFORE_TAG = Buffer.from('","tag":"')
const END = Buffer.from('"}')

/** The bytes that are one character each in a JSON string and need no escape. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte < 0x7f && !'"\\'.includes(String.fromCharCode(byte)) ? 1 : 0,
)

/**
 * Reads the plant of a canonical payload, for the id whose canonical text is `id`. Returns undefined for any other
 * payload; it may still be valid JSON.
 */
export function readCanonical(payload: Buffer, id: Buffer): Plant | undefined {
  const idAt = BEFORE_ID.length
  const nameAt = idAt + id.length + BEFORE_NAME.length
  if (!hasBytes(payload, 0, BEFORE_ID) || !hasBytes(payload, idAt, id)) return undefined
  if (!hasBytes(payload, idAt + id.length, BEFORE_NAME)) return undefined
  const nameEnd = plainEnd(payload, nameAt)
  if (nameEnd - nameAt > MAX_TEXT_CODE_POINTS) return undefined
  const name = payload.toString('latin1', nameAt, nameEnd)
  if (isEnd(payload, nameEnd)) return { name }
  const tagAt = nameEnd + BEFORE_TAG.length
  if (!hasBytes(payload, nameEnd, BEFORE_TAG)) return undefined
  const tagEnd = plainEnd(payload, tagAt)
  if (tagEnd - tagAt > MAX_TEXT_CODE_POINTS || !isEnd(payload, tagEnd)) return undefined
  return { name, tag: payload.toString('latin1', tagAt, tagEnd) }
}

/** Compares byte by byte: calling into Buffer costs much more for a few bytes. */
export function hasBytes(payload: Buffer, at: number, expected: Buffer): boolean {
  for (let index = 0; index < expected.length; index++) {
    if (payload[at + index] !== expected[index]) return false
  }
  return true
}

/** The index of the first byte that is not plain. */
function plainEnd(payload: Buffer, from: number): number {
  let end = from
  while (IS_PLAIN[payload[end] as number] === 1) end++
  return end
}

function isEnd(payload: Buffer, at: number): boolean {
  return payload.length === at + END.length && hasBytes(payload, at, END)
}
