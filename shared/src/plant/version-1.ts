import { isUtf8 } from 'node:buffer'
import { readCanonicalPayload } from './canonical-payload.ts'
import type { EventVersion } from './event-version.ts'
import { MAX_TEXT_CODE_POINTS, type NewPlant, type Plant, plantOf } from './plant.ts'
import type { PlantId } from './plant-id.ts'

// What version 1 says is written in docs/reference/events.md and never changes: what is readable here is so in every release.

/** Parsers of other languages have limits of their own; within this one all agree. */
const MAX_DEPTH = 64
const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

export const version1: EventVersion<Plant> = {
  contentType: Buffer.from('application/json; version=1'),
  read: (payload, id, key) => readCanonicalPayload(payload, key) ?? readPayload(payload, id),
}

/** The id is text because consumers in many languages lose digits of an int64 in a JSON number. */
export function writeVersion1({ id, name, tag }: NewPlant): Buffer {
  return Buffer.from(JSON.stringify({ id: id.toString(), name, tag }))
}

function readPayload(bytes: Buffer, id: PlantId): Plant | undefined {
  // Decoding bad UTF-8 would put U+FFFD where the writer had something else: an invented plant.
  if (!isUtf8(bytes)) return undefined
  const text = bytes.toString()
  let payload: unknown
  try {
    payload = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof payload !== 'object' || payload === null || isTooDeep(bytes, text)) return undefined
  const { id: said, name, tag } = payload as Record<string, unknown>
  if (said !== id.toString() || !isText(name)) return undefined
  if (tag === undefined) return plantOf({ name })
  return isText(tag) ? plantOf({ name, tag }) : undefined
}

function isText(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 2 * MAX_TEXT_CODE_POINTS || !value.isWellFormed())
    return false
  return value.length <= MAX_TEXT_CODE_POINTS || Array.from(value).length <= MAX_TEXT_CODE_POINTS
}

/** In the text, not in what was parsed: of equal names only the last one is there. */
function isTooDeep(json: Buffer, text: string): boolean {
  // Most are too short for that, and most of the others one object with nothing nested in it.
  if (json.length <= 2 * MAX_DEPTH) return false
  if (!text.includes('[') && !text.includes('{', text.indexOf('{') + 1)) return false
  let depth = 0
  let inString = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (++depth > MAX_DEPTH) return true
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--
  }
  return false
}
