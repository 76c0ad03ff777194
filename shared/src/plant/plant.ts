import { type Static, Type } from 'typebox'
import { type PlantId, plantIdOf } from './plant-id.ts'

/** Longest name or tag that an event may have, in Unicode code points. */
export const MAX_TEXT_CODE_POINTS = 1_000

const Text = (description: string, maxCodePoints: number) =>
  Type.Refine(
    Type.String({ maxLength: maxCodePoints, description }),
    (text) => typeof text !== 'string' || text.isWellFormed(),
    () => 'must be well-formed Unicode: it has a surrogate without its pair',
  )

export type TextLimits = { nameMaxCodePoints: number; tagMaxCodePoints: number }

const textsWithin = ({ nameMaxCodePoints, tagMaxCodePoints }: TextLimits) => ({
  name: Text('The name of the plant', nameMaxCodePoints),
  tag: Type.Optional(Text('Tag to specify the type of the plant', tagMaxCodePoints)),
})

/** The Plant of the specification: what a client gets back. It has no id. */
export const Plant = Type.Object(
  textsWithin({ nameMaxCodePoints: MAX_TEXT_CODE_POINTS, tagMaxCodePoints: MAX_TEXT_CODE_POINTS }),
  { title: 'Plant' },
)
export type Plant = Static<typeof Plant>

/** The id arrives as a bigint: the JSON parser keeps every digit, and a number that is no int64 stays out. */
export const PlantIdValue = Type.Refine(
  Type.Unsafe<PlantId>({ format: 'int64', description: 'Identification number of the plant' }),
  (value: unknown) => typeof value === 'bigint' && plantIdOf(value) !== undefined,
  () => 'must be an integer between -9223372036854775808 and 9223372036854775807',
)

/** The NewPlant of the specification: what a client sends. An api may take shorter texts than events may have. */
export const newPlantWithin = (limits: TextLimits) =>
  Type.Object({ ...textsWithin(limits), id: PlantIdValue }, { title: 'NewPlant' })
export type NewPlant = Static<ReturnType<typeof newPlantWithin>>

/** A new plain Plant with the fields of the specification and no others. */
export function plantOf({ name, tag }: Plant): Plant {
  return tag === undefined ? { name } : { name, tag }
}
