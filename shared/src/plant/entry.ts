import { isUtf8 } from 'node:buffer'
import { eventIdOfBytes, writeEventId } from './event-id.ts'
import { type Plant, type PlantId, textLengthOf } from './plant.ts'
import type { Claim } from './plant-created.ts'
import { type Offset, offsetOf } from './position.ts'

// Format of an entry. It is packed because Redis keeps one in memory for each plant.
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
/** UTF-8 takes at most three bytes for one UTF-16 code unit, and four bytes for two. */
const MAX_BYTES_PER_UNIT = 3
/** Result for texts that are not valid in an entry. */
const FOREIGN = Symbol('foreign')

/** The bytes are not an entry that this release can read. */
export class EntryError extends Error {
  override name = 'EntryError'
}

/** Throws the EntryError of an entry that this release cannot read. */
export function readable(entry: Claim | EntryError | undefined): Claim | undefined {
  if (entry instanceof EntryError) throw entry
  return entry
}

/** Upper bound of the length of this claim's entry. */
export function maxEntryBytes({ plant }: Claim): number {
  const texts = plant === undefined ? 0 : textLengthOf(plant)
  return TEXT_AT + LENGTH_BYTES + MAX_BYTES_PER_UNIT * texts
}

export function encodeEntry(claim: Claim): Buffer {
  const entry = Buffer.allocUnsafe(maxEntryBytes(claim))
  return entry.subarray(0, writeEntry(claim, entry, 0))
}

/** Writes the entry at index `at` and returns the index after it. `into` must have room for `maxEntryBytes`. */
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

/** Returns the index after the last byte written. */
function writeText(text: string, into: Buffer, at: number): number {
  return at + into.write(text, at)
}

/** The offset in the entry that starts at index `at`. */
export function offsetOfEntry(bytes: Buffer, at: number): Offset {
  return offsetOf(bytes.readUIntBE(at + OFFSET_AT, OFFSET_BYTES))
}

/** Throws an EntryError for bytes that `encodeEntry` does not produce. */
export function decodeEntry(id: PlantId, bytes: Buffer): Claim {
  const kind = bytes[0]
  const texts = bytes.subarray(TEXT_AT)
  const plant = kind === UNREADABLE ? undefined : decodePlant(kind, texts)
  if (bytes.length < TEXT_AT || plant === FOREIGN || (kind === UNREADABLE && texts.length > 0)) {
    throw new EntryError(
      `the entry of plant ${id} in the read model (${bytes.length} bytes) is not readable by this release`,
    )
  }
  return {
    id,
    eventId: eventIdOfBytes(bytes.subarray(1, OFFSET_AT)),
    offset: offsetOfEntry(bytes, 0),
    plant,
  }
}

function decodePlant(kind: number | undefined, texts: Buffer): Plant | typeof FOREIGN {
  if (kind === NAME) return isUtf8(texts) ? { name: texts.toString() } : FOREIGN
  if (kind !== NAME_AND_TAG || texts.length < LENGTH_BYTES) return FOREIGN
  const nameLength = texts.readUInt16BE()
  const name = texts.subarray(LENGTH_BYTES, LENGTH_BYTES + nameLength)
  const tag = texts.subarray(LENGTH_BYTES + nameLength)
  // Checked separately: a wrong length could split a character, and decoding would put U+FFFD there.
  if (name.length < nameLength || !isUtf8(name) || !isUtf8(tag)) return FOREIGN
  return { name: name.toString(), tag: tag.toString() }
}
