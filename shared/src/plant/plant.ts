import { type Static, Type } from 'typebox'
import { type PlantId, plantIdOf } from './plant-id.ts'

/** Longest name or tag, in Unicode code points. */
export const MAX_TEXT_CODE_POINTS = 1_000

const Text = (description: string) =>
  Type.Refine(
    Type.String({ maxLength: MAX_TEXT_CODE_POINTS, description }),
    (text) => typeof text !== 'string' || text.isWellFormed(),
    () => 'must be well-formed Unicode: it has a surrogate without its pair',
  )

/** The Plant of the specification: what a client gets back. It has no id. */
export const Plant = Type.Object({
  name: Text('The name of the plant'),
  tag: Type.Optional(Text('Tag to specify the type of the plant')),
})
export type Plant = Static<typeof Plant>

/** The id arrives as a bigint: the JSON parser keeps every digit, and a number that is no int64 stays out. */
export const PlantIdValue = Type.Refine(
  Type.Unsafe<PlantId>({ format: 'int64', description: 'Identification number of the plant' }),
  (value: unknown) => typeof value === 'bigint' && plantIdOf(value) !== undefined,
  () => 'must be an integer between -9223372036854775808 and 9223372036854775807',
)

/** The NewPlant of the specification: what a client sends. */
export const NewPlant = Type.Object({ ...Plant.properties, id: PlantIdValue })
export type NewPlant = Static<typeof NewPlant>

/** A new plain Plant with the fields of the specification and no others. */
export function plantOf({ name, tag }: Plant): Plant {
  return tag === undefined ? { name } : { name, tag }
}
