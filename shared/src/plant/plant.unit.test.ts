import fc from 'fast-check'
import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { EDGE_IDS, MAX_INT64, MIN_INT64, newPlants } from '../../../tests/support/generated-plants.ts'
import { MAX_TEXT_CODE_POINTS, NewPlant, parsePlantId, plantIdOf, plantOf } from './plant.ts'

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
    expect(accepts({ id: 1n, name: 'Ficus', colour: 'green' })).toBe(true)
    expect(plantOf({ name: 'Ficus', tag: 'tree', colour: 'green' } as never)).toEqual({
      name: 'Ficus',
      tag: 'tree',
    })
    expect(Object.keys(plantOf({ name: 'Ficus' }))).toEqual(['name'])
  })

  // One code point each, however many UTF-16 units, bytes or characters on the screen.
  it.each(['a', 'é', '植', '🌱', '\u0301', '\u200d'])('counts its texts in code points: %j', (codePoint) => {
    const longest = codePoint.repeat(MAX_TEXT_CODE_POINTS)
    expect(accepts({ id: 1n, name: longest, tag: longest })).toBe(true)
    expect(accepts({ id: 1n, name: longest + codePoint })).toBe(false)
    expect(accepts({ id: 1n, name: 'n', tag: longest + codePoint })).toBe(false)
  })

  it.each<[string, unknown]>([
    ['no name', { id: 1n }],
    ['no id', { name: 'n' }],
    ['an id as a number', { id: 1, name: 'n' }],
    ['an id as a text', { id: '1', name: 'n' }],
    ['an id above int64', { id: MAX_INT64 + 1n, name: 'n' }],
    ['an id below int64', { id: MIN_INT64 - 1n, name: 'n' }],
    ['no id but null', { id: null, name: 'n' }],
    ['a name that is no text', { id: 1n, name: 1n }],
    ['null as a tag', { id: 1n, name: 'n', tag: null }],
    ['half a surrogate pair in its name', { id: 1n, name: 'n\ud83c' }],
    ['half a surrogate pair in its tag', { id: 1n, name: 'n', tag: '\udf31' }],
    ['a list around it', [{ id: 1n, name: 'n' }]],
    ['nothing', null],
  ])('is rejected with %s', (_fault, plant) => {
    expect(accepts(plant)).toBe(false)
  })
})

describe('a plant id', () => {
  it.each(EDGE_IDS)('may be %s', (id) => {
    expect(plantIdOf(id)).toBe(id)
    expect(parsePlantId(id.toString())).toBe(id)
  })

  it('is limited to int64', () => {
    const beyond = fc.bigInt({ min: 1n, max: 2n ** 70n })
    fc.assert(
      fc.property(beyond, fc.boolean(), (by, above) => {
        const value = above ? MAX_INT64 + by : MIN_INT64 - by
        expect(plantIdOf(value)).toBeUndefined()
        expect(parsePlantId(value.toString())).toBeUndefined()
      }),
    )
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
        else expect(/^(0|-?[1-9]\d*)$/.test(text) && plantIdOf(BigInt(text)) !== undefined).toBe(false)
      }),
    )
  })
})
