import { isUtf8 } from 'node:buffer'
import type { Field, Fields, FieldValues, Value } from './fields.ts'
import { PLANT_FIELDS, type PlantId } from './plant.ts'

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

/** The bytes that are one character each in a JSON string and need no escape. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte < 0x7f && !'"\\'.includes(String.fromCharCode(byte)) ? 1 : 0,
)
const BEFORE_ID = Buffer.from('{"id":"')
const END = Buffer.from('"}')

/** Version 1 with these fields: a JSON object of strings. */
export function payloadOf<C extends FieldValues>({ fields, contentOf, textsOf }: Fields<C>) {
  const names = fields.map(({ name }) => Buffer.from(`","${name}":"`))
  /** Scratch array for the values of a payload. */
  const values: (Value | undefined)[] = fields.map(() => undefined)

  /**
   * Reads a canonical payload, for the id whose canonical text is `id`: one that `write` writes of texts in ASCII
   * without characters to escape, such as {"id":"7","name":"Fern","tag":"shade"}. Almost all payloads are of this form.
   * Reading it byte by byte takes a quarter of the time of the UTF-8 check, the JSON parser and the checks of its
   * result. Returns undefined for any other payload; it may still be valid JSON.
   */
  function readCanonical(payload: Buffer, id: Buffer): C | undefined {
    let at = BEFORE_ID.length + id.length
    if (!hasBytes(payload, 0, BEFORE_ID) || !hasBytes(payload, BEFORE_ID.length, id)) return undefined
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as Buffer
      const { presence, parse } = fields[index] as Field
      values[index] = undefined
      if (hasBytes(payload, at, name)) {
        const from = at + name.length
        at = plainEnd(payload, from)
        values[index] = parse(payload.toString('latin1', from, at))
        if (values[index] === undefined) return undefined
      } else if (presence === 'required') return undefined
    }
    return payload.length === at + END.length && hasBytes(payload, at, END) ? contentOf(values) : undefined
  }

  function readJson(bytes: Buffer, id: PlantId): C | undefined {
    // Decoding invalid UTF-8 would put U+FFFD where the writer had something else: an invented plant.
    if (!isUtf8(bytes)) return undefined
    let payload: unknown
    try {
      payload = JSON.parse(bytes.toString())
    } catch {
      return undefined
    }
    if (typeof payload !== 'object' || payload === null || jsonStructureOf(bytes).depth > MAX_DEPTH) return undefined
    const given = payload as Record<string, unknown>
    if (given.id !== id.toString()) return undefined
    for (let index = 0; index < fields.length; index++) {
      const { name, presence, isLater, parse } = fields[index] as Field
      const value = given[name]
      values[index] = typeof value === 'string' && value.isWellFormed() ? parse(value) : undefined
      const isFault = presence === 'required' || (value !== undefined && !isLater)
      if (values[index] === undefined && isFault) return undefined
    }
    return contentOf(values)
  }

  return {
    contentType: Buffer.from('application/json; version=1'),
    read: (payload: Buffer, id: PlantId, key: Buffer) => readCanonical(payload, key) ?? readJson(payload, id),
    readCanonical,
    /** The id is a JSON string because parsers of many languages lose digits of an int64 in a JSON number. */
    write: (id: PlantId, content: C) => Buffer.from(JSON.stringify({ id: id.toString(), ...textsOf(content) })),
  }
}

export const version1 = payloadOf(PLANT_FIELDS)

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
