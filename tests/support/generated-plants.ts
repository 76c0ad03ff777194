import { type EventId, eventIdOfBytes } from '@plant-store/shared/plant/event-id.ts'
import { type Declaration, fieldsOf, type Value } from '@plant-store/shared/plant/fields.ts'
import {
  type NewPlant,
  PLANT_EXAMPLES,
  PLANT_FIELDS,
  type Plant,
  type PlantId,
  plantOf,
} from '@plant-store/shared/plant/plant.ts'
import fc from 'fast-check'
import { codePoints } from './generated-texts.ts'

export const MIN_INT64 = -(2n ** 63n)
export const MAX_INT64 = 2n ** 63n - 1n

/** Ids that other programs may corrupt: at the ends of int64, and where doubles stop counting by one. */
export const EDGE_IDS = [MIN_INT64, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n + 1n, MAX_INT64 - 1n, MAX_INT64]

/** Any well-formed Unicode: all planes, combining marks, NUL and other control characters, the empty text. */
const textsUpTo = (maxLength: number) =>
  fc
    .oneof(
      fc.string({ unit: codePoints, maxLength: 30 }),
      fc.string({ unit: 'grapheme', maxLength: 10 }),
      fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
      fc.constantFrom('', '\u0000', '"\\/', '\u{10ffff}'.repeat(maxLength)),
    )
    .map((text) => (text.length <= maxLength ? text : Array.from(text).slice(0, maxLength).join('')))

const integers = fc.oneof(fc.bigInt({ min: MIN_INT64, max: MAX_INT64 }), fc.constantFrom(...EDGE_IDS))

function valuesOf(schema: { format?: string; enum?: string[]; maxLength?: number }): fc.Arbitrary<Value> {
  if (schema.format === 'int64') return integers
  return schema.enum === undefined ? textsUpTo(schema.maxLength ?? 0) : fc.constantFrom(...schema.enum)
}

/** Anything that has the declared fields. */
export function contents(
  fields: readonly (Declaration[string] & { name: string })[],
): fc.Arbitrary<Record<string, Value>> {
  const values = Object.fromEntries(fields.map(({ name, schema }) => [name, valuesOf(schema)]))
  const requiredKeys = fields.filter(({ presence }) => presence === 'required').map(({ name }) => name)
  return fc.record(values, { requiredKeys, noNullPrototype: true })
}

export const plants = contents(PLANT_FIELDS.fields) as fc.Arbitrary<unknown> as fc.Arbitrary<Plant>

export const plantIds = integers as fc.Arbitrary<PlantId>

export const newPlants: fc.Arbitrary<NewPlant> = fc.tuple(plantIds, plants).map(([id, plant]) => ({ ...plant, id }))

export const eventIds: fc.Arbitrary<EventId> = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => eventIdOfBytes(Buffer.from(bytes)))

/** Name and tag as they are declared, without other fields: for tests of fixed bytes. */
export const NAME_AND_TAG = fieldsOf<Pick<Plant, 'name' | 'tag'>>(
  Object.fromEntries(
    PLANT_FIELDS.fields.filter(({ name }) => name === 'name' || name === 'tag').map((field) => [field.name, field]),
  ),
)

/** A plant with these values, and with an example of each other required field. */
export const plantWith = (given: Partial<Plant>): Plant => plantOf({ ...PLANT_EXAMPLES.bare, ...given })

/** A plant where only its id matters, or its id and these values. */
export const newPlant = (id: bigint, given: Partial<Plant> = {}): NewPlant => ({
  ...{ id: id as PlantId, ...plantWith({ name: `plant ${id}`, ...given }) },
})
