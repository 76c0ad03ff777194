import { isUtf8 } from 'node:buffer'
import { eventIdOfBytes, writeEventId } from './event-id.ts'
import { type Field, type Fields, type FieldValues, textOf, type Value } from './fields.ts'
import { PLANT_FIELDS, type PlantId } from './plant.ts'
import type { Claim } from './plant-created.ts'
import { type Offset, offsetOf } from './position.ts'

// Format of an entry. It is packed because Redis keeps one in memory for each plant.
//   byte  1        what follows: 0 unreadable, 1 the first field, 2 the first two fields, 3 any other fields
//   bytes 2 to 17  event id (apply.lua compares these)
//   bytes 18 to 23 offset, big-endian
//   then the texts of the fields in UTF-8, each after its length in two bytes, except the last text of forms 1 and 2.
//   In form 3 two bytes come first: bit n, counted from 0 at the lowest, is set if the field with number n is present.
const UNREADABLE = 0
const ANY = 3
/** The form for these flags, if it is not `ANY`. */
const FORMS = [UNREADABLE, 1, ANY, 2]
const OFFSET_AT = 17
const OFFSET_BYTES = 6
const CONTENT_AT = OFFSET_AT + OFFSET_BYTES
const FLAGS_BYTES = 2
const LENGTH_BYTES = 2
/** UTF-8 takes at most three bytes for one UTF-16 code unit, and four bytes for two. */
const MAX_BYTES_PER_UNIT = 3
const NO_VALUES: readonly undefined[] = []
/** Result for bytes that are not valid in an entry. */
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

/** The offset in the entry that starts at index `at`. */
export function offsetOfEntry(bytes: Buffer, at: number): Offset {
  return offsetOf(bytes.readUIntBE(at + OFFSET_AT, OFFSET_BYTES))
}

type ClaimOf<C> = Omit<Claim, 'plant'> & { plant: C | undefined }

export function entriesOf<C extends FieldValues>({ fields, valuesOf, contentOf, textLengthOf }: Fields<C>) {
  /** Scratch array for the values of an entry. */
  const values: (Value | undefined)[] = fields.map(() => undefined)
  const maxLayoutBytes = FLAGS_BYTES + LENGTH_BYTES * fields.length

  /** Upper bound of the length of this claim's entry. */
  function maxEntryBytes({ plant }: ClaimOf<C>): number {
    return CONTENT_AT + (plant === undefined ? 0 : maxLayoutBytes + MAX_BYTES_PER_UNIT * textLengthOf(plant))
  }

  /** Writes the entry at index `at` and returns the index after it. `into` must have room for `maxEntryBytes`. */
  function writeEntry({ eventId, offset, plant }: ClaimOf<C>, into: Buffer, at: number): number {
    const written = plant === undefined ? NO_VALUES : valuesOf(plant)
    const flags = flagsOf(written)
    const form = FORMS[flags] ?? ANY
    into[at] = form
    writeEventId(eventId, into, at + 1)
    into.writeUIntBE(offset, at + OFFSET_AT, OFFSET_BYTES)
    let end = at + CONTENT_AT
    if (form === ANY) end = into.writeUInt16BE(flags, end)
    for (let index = 0; flags >> index > 0; index++) {
      const value = written[index]
      if (value === undefined) continue
      const from = end + (isLast(form, flags, index) ? 0 : LENGTH_BYTES)
      const textEnd = from + into.write(textOf(value), from)
      if (from > end) into.writeUInt16BE(textEnd - from, end)
      end = textEnd
    }
    return end
  }

  /** Throws an EntryError for bytes that `encodeEntry` does not produce. */
  function decodeEntry(id: PlantId, bytes: Buffer): ClaimOf<C> {
    const plant = bytes.length < CONTENT_AT ? FOREIGN : readPlant(bytes)
    if (plant === FOREIGN) {
      throw new EntryError(
        `the entry of plant ${id} in the read model (${bytes.length} bytes) is not readable by this release`,
      )
    }
    return { id, eventId: eventIdOfBytes(bytes.subarray(1, OFFSET_AT)), offset: offsetOfEntry(bytes, 0), plant }
  }

  function readPlant(bytes: Buffer): C | undefined | typeof FOREIGN {
    const form = bytes[0] as number
    if (form === UNREADABLE) return bytes.length === CONTENT_AT ? undefined : FOREIGN
    const isAny = form === ANY && bytes.length >= CONTENT_AT + FLAGS_BYTES
    const flags = isAny ? bytes.readUInt16BE(CONTENT_AT) : FORMS.indexOf(form)
    if (flags <= 0 || (FORMS[flags] ?? ANY) !== form || flags >> fields.length > 0) return FOREIGN
    let end = CONTENT_AT + (isAny ? FLAGS_BYTES : 0)
    for (let index = 0; index < fields.length; index++) {
      const { presence, parse } = fields[index] as Field
      const isPresent = ((flags >> index) & 1) === 1
      const isOpen = isLast(form, flags, index)
      const from = end + (isPresent && !isOpen ? LENGTH_BYTES : 0)
      if (from > bytes.length) return FOREIGN
      if (isPresent) end = isOpen ? bytes.length : from + bytes.readUInt16BE(end)
      // Checked separately: a wrong length could split a character, and decoding would put U+FFFD there.
      const text = bytes.subarray(from, end)
      const value = isPresent && end <= bytes.length && isUtf8(text) ? parse(text.toString()) : undefined
      if (value === undefined && (isPresent || presence === 'required')) return FOREIGN
      values[index] = value
    }
    return end === bytes.length ? contentOf(values) : FOREIGN
  }

  return {
    maxEntryBytes,
    writeEntry,
    decodeEntry,

    encodeEntry(claim: ClaimOf<C>): Buffer {
      const entry = Buffer.allocUnsafe(maxEntryBytes(claim))
      return entry.subarray(0, writeEntry(claim, entry, 0))
    },
  }
}

export const { maxEntryBytes, writeEntry, decodeEntry, encodeEntry } = entriesOf(PLANT_FIELDS)

/** Bit n is set if the field with number n is present. */
function flagsOf(values: readonly (Value | undefined)[]): number {
  let flags = 0
  for (let index = 0; index < values.length; index++) if (values[index] !== undefined) flags |= 1 << index
  return flags
}

/** The last text of the forms without flags ends with the entry, so it has no length. */
function isLast(form: number, flags: number, index: number): boolean {
  return form !== ANY && flags >> index === 1
}
