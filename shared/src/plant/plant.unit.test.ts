import fc from 'fast-check'
import { Value } from 'typebox/value'
import { expect, it } from 'vitest'
import {
  EDGE_IDS,
  MAX_INT64,
  MIN_INT64,
  newPlant,
  newPlants,
  plantWith,
} from '../../../tests/support/generated-plants.ts'
import { MAX_TEXT_CODE_POINTS, NewPlant, PLANT_EXAMPLES, parsePlantId, plantOf } from './plant.ts'

const accepts = (plant: unknown) => Value.Check(NewPlant, plant)

it('a new plant has an int64 and any well-formed text, and may have unknown fields, which are dropped', () => {
  fc.assert(
    fc.property(newPlants, (plant) => {
      expect(accepts({ ...plant, colour: 'green' })).toBe(true)
    }),
  )
  const plant = plantWith({ name: 'Ficus' })
  expect(plantOf({ ...plant, colour: 'green' } as never)).toEqual(plant)
})

// One code point each, however many UTF-16 units, bytes or characters on the screen.
it.each(['a', '植', '🌱', '\u0301'])('the texts of a new plant are counted in code points: %j', (codePoint) => {
  const longest = codePoint.repeat(MAX_TEXT_CODE_POINTS)
  expect(accepts(newPlant(1n, { name: longest, tag: longest }))).toBe(true)
  expect(accepts(newPlant(1n, { name: longest + codePoint }))).toBe(false)
  expect(accepts(newPlant(1n, { tag: longest + codePoint }))).toBe(false)
})

it.each<[string, object]>([
  ['no name', { name: undefined }],
  ['no id', { id: undefined }],
  ['an id as a number', { id: 1 }],
  ['an id as a text', { id: '1' }],
  ['an id above int64', { id: MAX_INT64 + 1n }],
  ['an id below int64', { id: MIN_INT64 - 1n }],
  ['a name that is no text', { name: 1n }],
  ['null as a tag', { tag: null }],
  ['half a surrogate pair in its name', { name: 'n\ud83c' }],
  ['half a surrogate pair in its tag', { tag: '\udf31' }],
])('a new plant is rejected with %s', (_fault, change) => {
  const changed = Object.entries({ id: 1n, ...PLANT_EXAMPLES.bare, ...change })
  expect(accepts(Object.fromEntries(changed.filter(([, value]) => value !== undefined)))).toBe(false)
})

it('a plant id is any int64, in its only text', () => {
  for (const id of EDGE_IDS) expect(parsePlantId(id.toString())).toBe(id)
  fc.assert(
    fc.property(fc.stringMatching(/^[-+]?0{0,2}[0-9]{0,20}$/), (text) => {
      const id = parsePlantId(text)
      if (id !== undefined) expect(id.toString()).toBe(text)
      else expect(/^(0|-?[1-9]\d*)$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)).toBe(false)
    }),
  )
})
