import { isUtf8 } from 'node:buffer'
import { eventIdOfBytes, writeEventId } from '../plant/event-id.ts'
import type { Plant, PlantId } from '../plant/plant.ts'
import type { Claim } from '../plant/plant-created.ts'
import { offsetOf } from '../plant/position.ts'

// An entry, packed because there is one for each plant in memory:
//   byte  1        what follows: 0 unreadable, 1 name, 2 name and tag
//   bytes 2 to 17  event id (apply.lua compares these)
//   bytes 18 to 23 offset, big-endian
//   then the name in UTF-8, or with a tag: two bytes length of the name, name, tag
const UNREADABLE = 0
const NAME = 1
const NAME_AND_TAG = 2
const OFFSET_AT = 17
const OFFSET_BYTES = 6
const TEXT_AT = OFFSET_AT + OFFSET_BYTES
const LENGTH_BYTES = 2
/** UTF-8 has at most three bytes for a unit of UTF-16, four for two. */
const MAX_BYTES_PER_UNIT = 3
/** What is no text of an entry. */
const FOREIGN = Symbol('foreign')

/** Bytes that are no entry of a version this release knows. */
export class EntryError extends Error {
  override name = 'EntryError'
}

/** Throws the EntryError of an entry that this release can't read. */
export function readable(entry: Claim | EntryError | undefined): Claim | undefined {
  if (entry instanceof EntryError) throw entry
  return entry
}

/** No entry of this claim is longer. */
export function maxEntryBytes({ plant }: Claim): number {
  const texts = plant === undefined ? 0 : plant.name.length + (plant.tag?.length ?? 0)
  return TEXT_AT + LENGTH_BYTES + MAX_BYTES_PER_UNIT * texts
}

export function encodeEntry(claim: Claim): Buffer {
  const entry = Buffer.allocUnsafe(maxEntryBytes(claim))
  return entry.subarray(0, writeEntry(claim, entry, 0))
}

/** Writes the entry into these bytes, `at` and after, and returns where it ends; there must be `maxEntryBytes`. */
export function writeEntry({ eventId, offset, plant }: Claim, into: Buffer, at: number): number {
  into[at] = plant === undefined ? UNREADABLE : plant.tag === undefined ? NAME : NAME_AND_TAG
  writeEventId(eventId, into, at + 1)
  into.writeUIntBE(offset, at + OFFSET_AT, OFFSET_BYTES)
  const textAt = at + TEXT_AT
  if (plant === undefined) return textAt
  if (plant.tag === undefined) return writeText(plant.name, into, textAt)
  const nameAt = textAt + LENGTH_BYTES
  const nameEnd = writeText(plant.name, into, nameAt)
  into.writeUInt16BE(nameEnd - nameAt, textAt)
  return writeText(plant.tag, into, nameEnd)
}

/** Returns where its UTF-8 ends. */
function writeText(text: string, into: Buffer, at: number): number {
  return at + into.write(text, at)
}

/** Throws an EntryError for anything that `encodeEntry` does not make. */
export function decodeEntry(id: PlantId, bytes: Buffer): Claim {
  const kind = bytes[0]
  const texts = bytes.subarray(TEXT_AT)
  const plant = kind === UNREADABLE ? undefined : decodePlant(kind, texts)
  if (bytes.length < TEXT_AT || plant === FOREIGN || (kind === UNREADABLE && texts.length > 0)) {
    throw new EntryError(
      `the read model holds ${bytes.length} bytes for plant ${id} that are no entry of this release`,
    )
  }
  return {
    id,
    eventId: eventIdOfBytes(bytes.subarray(1, OFFSET_AT)),
    offset: offsetOf(bytes.readUIntBE(OFFSET_AT, OFFSET_BYTES)),
    plant,
  }
}

function decodePlant(kind: number | undefined, texts: Buffer): Plant | typeof FOREIGN {
  if (kind === NAME) return isUtf8(texts) ? { name: texts.toString() } : FOREIGN
  if (kind !== NAME_AND_TAG || texts.length < LENGTH_BYTES) return FOREIGN
  const nameLength = texts.readUInt16BE()
  const name = texts.subarray(LENGTH_BYTES, LENGTH_BYTES + nameLength)
  const tag = texts.subarray(LENGTH_BYTES + nameLength)
  // Each of its own: a wrong length could cut a character in two, and decoding would put U+FFFD there.
  if (name.length < nameLength || !isUtf8(name) || !isUtf8(tag)) return FOREIGN
  return { name: name.toString(), tag: tag.toString() }
}
