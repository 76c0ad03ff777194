import fc from 'fast-check'
import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
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

describe('a new plant', () => {
  it('has an int64 and any well-formed text', () => {
    fc.assert(
      fc.property(newPlants, (plant) => {
        expect(accepts(plant)).toBe(true)
      }),
    )
  })

  it('may have unknown fields, which are dropped', () => {
    const plant = plantWith({ name: 'Ficus' })
    expect(accepts({ id: 1n, ...plant, colour: 'green' })).toBe(true)
    expect(plantOf({ ...plant, colour: 'green' } as never)).toEqual(plant)
    expect(Object.keys(plant)).toEqual(Object.keys(PLANT_EXAMPLES.bare))
  })

  // One code point each, however many UTF-16 units, bytes or characters on the screen.
  it.each(['a', 'é', '植', '🌱', '\u0301', '\u200d'])('counts its texts in code points: %j', (codePoint) => {
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
    ['no id but null', { id: null }],
    ['a name that is no text', { name: 1n }],
    ['null as a tag', { tag: null }],
    ['half a surrogate pair in its name', { name: 'n\ud83c' }],
    ['half a surrogate pair in its tag', { tag: '\udf31' }],
  ])('is rejected with %s', (_fault, change) => {
    const changed = Object.entries({ id: 1n, ...PLANT_EXAMPLES.bare, ...change })
    expect(accepts(Object.fromEntries(changed.filter(([, value]) => value !== undefined)))).toBe(false)
  })

  it.each([[[{ id: 1n, ...PLANT_EXAMPLES.bare }]], [null]])('is not %s', (value) => {
    expect(accepts(value)).toBe(false)
  })
})

describe('a plant id', () => {
  it.each(EDGE_IDS)('may be %s', (id) => {
    expect(parsePlantId(id.toString())).toBe(id)
  })

  it.each([
    ...['', '-', '-0', '+1', '007', '-07', '00', '1.0', '1e3', '0x10', '1n', '1_000', ' 1', '1 ', '1\n', '\n1'],
    ...['١', '１', '−1', '--1', '9223372036854775808', '-9223372036854775809', '99999999999999999999', 'NaN'],
  ])('is not %j', (text) => {
    expect(parsePlantId(text)).toBeUndefined()
  })

  it('has only one text: a parsed id prints unchanged', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[-+]?0{0,2}[0-9]{0,20}$/), (text) => {
        const id = parsePlantId(text)
        if (id !== undefined) expect(id.toString()).toBe(text)
        else expect(/^(0|-?[1-9]\d*)$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)).toBe(false)
      }),
    )
  })
})
