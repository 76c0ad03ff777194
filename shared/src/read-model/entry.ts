import { isUtf8 } from 'node:buffer'
import { eventIdBytes, eventIdOfBytes } from '../plant/event-id.ts'
import { offsetOf } from '../plant/offset.ts'
import type { Plant } from '../plant/plant.ts'
import type { Claim } from '../plant/plant-created.ts'
import type { PlantId } from '../plant/plant-id.ts'

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

export function encodeEntry({ eventId, offset, plant }: Claim): Buffer {
  const head = Buffer.allocUnsafe(TEXT_AT)
  head[0] = plant === undefined ? UNREADABLE : plant.tag === undefined ? NAME : NAME_AND_TAG
  eventIdBytes(eventId).copy(head, 1)
  head.writeUIntBE(offset, OFFSET_AT, OFFSET_BYTES)
  if (plant === undefined) return head
  const name = Buffer.from(plant.name)
  if (plant.tag === undefined) return Buffer.concat([head, name])
  const length = Buffer.allocUnsafe(LENGTH_BYTES)
  length.writeUInt16BE(name.length)
  return Buffer.concat([head, length, name, Buffer.from(plant.tag)])
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
