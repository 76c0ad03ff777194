import { createHash } from 'node:crypto'
import { type Fields, type FieldValues, textOf } from './fields.ts'
import { PLANT_FIELDS, type PlantId } from './plant.ts'

declare const brand: unique symbol

/** Identity of one event: a UUID in the text form of RFC 9562, in lower case, so that equal ids are equal texts. */
export type EventId = string & { readonly [brand]: 'EventId' }

const BYTES = 16
/** 1 for a dash, 0 for a digit. */
const FORM = Uint8Array.from('xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx', (symbol) => (symbol === '-' ? 1 : 0))
/** The value of each byte that is a digit, 16 for a dash, -1 for the others. */
const VALUES = Int8Array.from({ length: 256 }, (_, byte) => '0123456789abcdef-'.indexOf(String.fromCharCode(byte)))
/** Index in the text of the first digit of each byte. */
const DIGITS_AT = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34)

/** Scratch buffer for the text of an id that is being packed. */
const TEXT = Buffer.alloc(FORM.length)

/** Namespace of keyed event ids. It never changes: a retry must yield the event id of its first attempt. */
const KEYED_NAMESPACE = Buffer.from('6f0c2a5e1d2b4c0f9a7b3e8d54c1f6a2', 'hex')

export function parseEventId(text: string): EventId | undefined {
  return readEventId(Buffer.from(text))
}

/**
 * Writes the 16 bytes of an event id at index `at`. Uses a table, because Buffer's hex decoding takes several times as
 * long. Copies the text to bytes first: with many texts in use, reading the characters of each one by one would take
 * longer than everything else here.
 */
export function writeEventId(id: EventId, into: Uint8Array, at: number): void {
  TEXT.write(id, 'latin1')
  for (let index = 0; index < BYTES; index++) {
    const digit = DIGITS_AT[index] as number
    const high = VALUES[TEXT[digit] as number] as number
    into[at + index] = (high << 4) | (VALUES[TEXT[digit + 1] as number] as number)
  }
}

/** Parses an event id from the bytes of its text. A regular expression takes seven times as long as this loop. */
export function readEventId(bytes: Buffer): EventId | undefined {
  if (bytes.length !== FORM.length) return undefined
  for (let index = 0; index < FORM.length; index++) {
    if ((VALUES[bytes[index] as number] as number) >> 4 !== FORM[index]) return undefined
  }
  return bytes.toString('latin1') as EventId
}

export function eventIdOfBytes(bytes: Buffer): EventId {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as EventId
}

/**
 * The event id of a create with an Idempotency-Key: UUIDv5 (RFC 9562, 5.5) of caller, key and plant. A retry is the
 * same event; the same key with another plant is another event. Each part is hashed with its length, so that `ab`+`c`
 * differs from `a`+`bc`. An absent part has no length, so that it differs from an empty one. A field of a later release
 * is hashed only if it is present, with its name: plants without it keep their event ids.
 */
export const keyedEventIdWith =
  <C extends FieldValues>({ fields, valuesOf }: Fields<C>) =>
  (caller: string, key: string, plant: C & { id: PlantId }): EventId => {
    const hash = createHash('sha1').update(KEYED_NAMESPACE)
    const update = (part: string | undefined) =>
      hash.update(part === undefined ? '-' : `${Buffer.byteLength(part)}:`).update(part ?? '')
    for (const part of [caller, key, plant.id.toString()]) update(part)
    const values = valuesOf(plant)
    for (const [index, { name, isLater }] of fields.entries()) {
      const value = values[index]
      if (isLater && value !== undefined) hash.update(`${name}=`)
      if (!isLater || value !== undefined) update(textOf(value))
    }
    const bytes = hash.digest().subarray(0, 16)
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x50
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
    return eventIdOfBytes(bytes)
  }

export const keyedEventId = keyedEventIdWith(PLANT_FIELDS)
