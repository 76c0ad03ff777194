import { formatPosition, type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { tokenOf } from './consistency-token.ts'

const PARTITIONS = 12
const MOST_PARTITIONS = 1_000

const partitions = fc.oneof(fc.nat(2), fc.nat(MOST_PARTITIONS - 1)).map((partition) => partition as Partition)
const offsets = fc.oneof(fc.nat(), fc.nat({ max: 2 ** 48 - 1 }), fc.constant(2 ** 48 - 1)).map(offsetOf)
const positions = fc.array(fc.record({ partition: partitions, offset: offsets }), { minLength: 1, maxLength: 50 })
const commas = fc.constantFrom(',', ', ', ' ,', '\t,  ', ',,', ', ,')
const refused = expect.objectContaining({ failure: 'invalidPosition' })

it('a consistency token has the highest position of each partition, in any order and however they are joined', () => {
  fc.assert(
    fc.property(positions, commas, (given, comma) => {
      const ascending = given.toSorted((a, b) => a.offset - b.offset)
      const highest = new Map(ascending.map(({ partition, offset }): [Partition, Offset] => [partition, offset]))
      expect(tokenOf(given.map(formatPosition).join(comma), MOST_PARTITIONS)).toEqual(highest)
    }),
  )
  expect([...tokenOf(['3-5', '4-6, 3-7'], PARTITIONS)]).toEqual([
    [3, 7],
    [4, 6],
  ])
})

it.each([
  ...['', ' ', ',', ' , ', '-', '3', '3-', '-5', '3--5', '3-5-7', '3 - 5', '3-5\n', '3-5\u00a0', '3_5', 'a-b'],
  ...['3-1e3', '3-0x5', '3-1.0', '-3-5', '+3-5', '3-+5', '3-5; 3-6', '3-5 3-6', '3-5, x', '12-0', '9999-0'],
  ...['3-5, 12-0', '99999-0', '3-281474976710656', '٣-٥', '3-9223372036854775807', `3-${'9'.repeat(400)}`],
])('%j is no consistency token', (header) => {
  expect(() => tokenOf(header, PARTITIONS)).toThrow(refused)
})

it('has room for a position of each partition, and for several responses joined', () => {
  const all = Array.from({ length: MOST_PARTITIONS }, (_, p) => `${p}-${2 ** 48 - 1}`).join(', ')
  expect(tokenOf(all, MOST_PARTITIONS).size).toBe(MOST_PARTITIONS)
  const joined = (count: number) => Array(count).fill('1-100000').join(', ')
  expect([...tokenOf(joined(100), PARTITIONS)]).toEqual([[1, 100_000]])
  expect(() => tokenOf(joined(101), PARTITIONS)).toThrow(refused)
})
