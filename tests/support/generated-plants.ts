import { type EventId, eventIdOfBytes } from '@plant-store/shared/plant/event-id.ts'
import {
  MAX_TEXT_CODE_POINTS,
  type NewPlant,
  type Plant,
  type PlantId,
  plantOf,
} from '@plant-store/shared/plant/plant.ts'
import fc from 'fast-check'

export const MIN_INT64 = -(2n ** 63n)
export const MAX_INT64 = 2n ** 63n - 1n

/** Ids that other programs may corrupt: at the ends of int64, and where doubles stop counting by one. */
export const EDGE_IDS = [MIN_INT64, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n + 1n, MAX_INT64 - 1n, MAX_INT64]

export const plantIds = fc.oneof(
  fc.bigInt({ min: MIN_INT64, max: MAX_INT64 }),
  fc.constantFrom(...EDGE_IDS),
) as fc.Arbitrary<PlantId>

/** Any well-formed Unicode: all planes, combining marks, NUL and other control characters, the empty text. */
export const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 10 }),
  fc.constantFrom('', '\u0000', '"\\/', '\u{10ffff}'.repeat(MAX_TEXT_CODE_POINTS)),
)

export const plants: fc.Arbitrary<Plant> = fc
  .record({ name: texts, tag: fc.option(texts) })
  .map(({ name, tag }) => plantOf(tag === null ? { name } : { name, tag }))

export const newPlants: fc.Arbitrary<NewPlant> = fc.tuple(plantIds, plants).map(([id, plant]) => ({ ...plant, id }))

export const eventIds: fc.Arbitrary<EventId> = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => eventIdOfBytes(Buffer.from(bytes)))

/** A plant where only its id matters. */
export const newPlant = (id: bigint): NewPlant => ({ id: id as PlantId, name: `plant ${id}` })
