import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EDGE_IDS, MAX_INT64, MIN_INT64, plantIds } from '../../../tests/support/generated-plants.ts'
import { parsePlantId, plantIdOf } from './plant-id.ts'

describe('a plant id', () => {
  it('is any int64, with every digit', () => {
    fc.assert(
      fc.property(plantIds, (id) => {
        expect(parsePlantId(id.toString())).toBe(id)
      }),
    )
  })

  it.each(EDGE_IDS)('may be %s', (id) => {
    expect(plantIdOf(id)).toBe(id)
    expect(parsePlantId(id.toString())).toBe(id)
  })

  it('is nothing beyond int64', () => {
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
    ...[
      '',
      '-',
      '-0',
      '+1',
      '007',
      '-07',
      '00',
      '1.0',
      '1e3',
      '0x10',
      '1n',
      '1_000',
      ' 1',
      '1 ',
      '1\n',
      '\n1',
    ],
    ...['١', '１', '−1', '--1', '9223372036854775808', '-9223372036854775809', '99999999999999999999', 'NaN'],
  ])('is not written %j', (text) => {
    expect(parsePlantId(text)).toBeUndefined()
  })

  it('has one text only: what parses prints as it was', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[-+]?0{0,2}[0-9]{0,20}$/), (text) => {
        const id = parsePlantId(text)
        if (id !== undefined) expect(id.toString()).toBe(text)
        else expect(/^(0|-?[1-9]\d*)$/.test(text) && plantIdOf(BigInt(text)) !== undefined).toBe(false)
      }),
    )
  })
})
