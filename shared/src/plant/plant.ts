import { type Static, Type } from 'typebox'

declare const brand: unique symbol

/** Identification number of a plant: any int64, exact. */
export type PlantId = bigint & { readonly [brand]: 'PlantId' }

/** Maximum length of a name or tag, in Unicode code points. Events promise it to every consumer. */
export const MAX_TEXT_CODE_POINTS = 1_000

const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n
const CANONICAL_INT64 = /^(?:0|-?[1-9][0-9]{0,18})$/

/** The id with this value; undefined for a value outside int64. */
export function plantIdOf(value: bigint): PlantId | undefined {
  return value >= MIN_INT64 && value <= MAX_INT64 ? (value as PlantId) : undefined
}

/**
 * Parses an id in canonical decimal (`-7`, `0`, `9007199254740993`). Returns undefined for any other text (`007`, `-0`,
 * `+1`, `1.0`): two ids are equal if and only if their canonical texts are equal.
 */
export function parsePlantId(text: string): PlantId | undefined {
  return CANONICAL_INT64.test(text) ? plantIdOf(BigInt(text)) : undefined
}

const Text = (description: string) =>
  Type.Refine(
    Type.String({ maxLength: MAX_TEXT_CODE_POINTS, description }),
    (text) => typeof text !== 'string' || text.isWellFormed(),
    () => 'must be well-formed Unicode, without unpaired surrogates',
  )

const TEXTS = {
  name: Text('The name of the plant'),
  tag: Type.Optional(Text('Tag to specify the type of the plant')),
}

/** The Plant of the specification, as responses contain it: it has no id. */
export const Plant = Type.Object(TEXTS, { title: 'Plant' })
export type Plant = Static<typeof Plant>

/** The JSON parser reads an id as a bigint, so that every digit is kept. A number that is not an int64 is rejected. */
export const PlantIdValue = Type.Refine(
  Type.Unsafe<PlantId>({ format: 'int64', description: 'Identification number of the plant' }),
  (value: unknown) => typeof value === 'bigint' && plantIdOf(value) !== undefined,
  () => 'must be an integer between -9223372036854775808 and 9223372036854775807',
)

/** The NewPlant of the specification, as requests contain it. */
export const NewPlant = Type.Object({ ...TEXTS, id: PlantIdValue }, { title: 'NewPlant' })
export type NewPlant = Static<typeof NewPlant>

/** The fields of a plant, in the order in which they are shown. */
export const PLANT_FIELDS = ['name', 'tag'] as const satisfies readonly (keyof Plant)[]

/** A plain copy that has the fields of the specification and no others. */
export function plantOf({ name, tag }: Plant): Plant {
  return tag === undefined ? { name } : { name, tag }
}

/** The length of all its texts together, in UTF-16 code units. */
export function textLengthOf({ name, tag }: Plant): number {
  return name.length + (tag?.length ?? 0)
}
