import { type Static, Type } from 'typebox'
import { acceptedFields, fieldsOf, Int64, parseInt64, propertiesOf, text } from './fields.ts'

declare const brand: unique symbol

/** Identification number of a plant: any int64, exact. */
export type PlantId = bigint & { readonly [brand]: 'PlantId' }

/** Maximum length of a name or tag, in Unicode code points. Events promise it to every consumer. */
export const MAX_TEXT_CODE_POINTS = 1_000

/** The fields of a plant: everything else derives from this. New ones are `announced` at first, then `added`. */
const FIELDS = {
  name: text('required', 'The name of the plant', ['Monstera deliciosa', 'Øyelill 🌱'], MAX_TEXT_CODE_POINTS),
  tag: text('optional', 'Tag to specify the type of the plant', ['indoor'], MAX_TEXT_CODE_POINTS),
}

/** Parses an id in canonical decimal. Returns undefined for any other text (`007`, `-0`, `+1`, `1.0`). */
export const parsePlantId = parseInt64 as (text: string) => PlantId | undefined

/** The Plant of the specification, as responses contain it: it has no id. */
export const Plant = Type.Object(propertiesOf(FIELDS, { type: 'integer' }), { title: 'Plant' })
export type Plant = Static<typeof Plant>

export const PlantIdValue = Int64<PlantId>('Identification number of the plant')

/** The NewPlant of the specification, as requests contain it. */
export const NewPlant = Type.Object(
  { ...propertiesOf(acceptedFields(FIELDS)), id: PlantIdValue },
  { title: 'NewPlant' },
)
export type NewPlant = Static<typeof NewPlant>

export const PLANT_FIELDS = fieldsOf<Plant>(FIELDS)

/** `plantOf`: a plain copy that has the fields of the specification and no others. */
export const { copyOf: plantOf, textsOf, textLengthOf, examples: PLANT_EXAMPLES } = PLANT_FIELDS

/** The fields of a request that clients can set. */
export const { copyOf: acceptedOf } = fieldsOf<Omit<NewPlant, 'id'>>(acceptedFields(FIELDS))

/** A plant to create, as JSON. */
export function exampleBody(plant: Plant, id = 1n): string {
  const jsonOf = (value: unknown) => (typeof value === 'bigint' ? value.toString() : JSON.stringify(value))
  const members = Object.entries({ id, ...plant }).map(([name, value]) => `"${name}":${jsonOf(value)}`)
  return `{${members.join()}}`
}
