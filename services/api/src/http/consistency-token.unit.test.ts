import { formatPosition, type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { formatToken } from '@plant-store/shared/protocol/consistency-token.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { notCovered, tokenOf } from './consistency-token.ts'

const PARTITIONS = 12
const MOST_PARTITIONS = 1_000

const partitions = fc.nat(MOST_PARTITIONS - 1).map((partition) => partition as Partition)
const offsets = fc.oneof(fc.nat(), fc.nat({ max: 2 ** 48 - 1 }), fc.constant(2 ** 48 - 1)).map(offsetOf)
const positions = fc.record({ partition: partitions, offset: offsets })
const refused = expect.objectContaining({ failure: 'invalidPosition' })

describe('the consistency token of a request', () => {
  it('is parsed to all positions of a response, up to one for each partition', () => {
    const many = fc
      .uniqueArray(positions, {
        minLength: 1,
        maxLength: MOST_PARTITIONS,
        selector: (each) => each.partition,
      })
      .map((each) => new Map(each.map(({ partition, offset }) => [partition, offset])))
    fc.assert(
      fc.property(many, (given) => {
        expect(tokenOf(formatToken(given), MOST_PARTITIONS)).toEqual(given)
      }),
    )
    const all = Array.from({ length: MOST_PARTITIONS }, (_, p) => [p as Partition, offsetOf(2 ** 48 - 1)] as const)
    expect(tokenOf(formatToken(new Map(all)), MOST_PARTITIONS)).toEqual(new Map(all))
  })

  it('has the highest position of each partition, in any order and however they are joined', () => {
    const some = fc.array(
      fc.record({ partition: fc.nat(2).map((partition) => partition as Partition), offset: offsets }),
      { minLength: 1, maxLength: 20 },
    )
    const commas = fc.constantFrom(',', ', ', ' ,', '\t,  ', ',,', ', ,')
    fc.assert(
      fc.property(some, commas, (given, comma) => {
        const highest = new Map<Partition, Offset>()
        for (const { partition, offset } of [...given].sort((a, b) => a.offset - b.offset))
          highest.set(partition, offset)
        const parsed = tokenOf(given.map(formatPosition).join(comma), PARTITIONS)
        expect(parsed).toEqual(highest)
      }),
    )
  })

  it('is the union of all headers of that name', () => {
    expect([...tokenOf(['3-5', '4-6, 3-7'], PARTITIONS)]).toEqual([
      [3, 7],
      [4, 6],
    ])
  })

  it.each([
    ...['', ' ', ',', ' , ', '-', '3', '3-', '-5', '3--5', '3-5-7', '3 - 5', '3-5\n', '3-5\u00a0', '3_5', 'a-b'],
    ...['3-1e3', '3-0x5', '3-1.0', '-3-5', '+3-5', '3-+5', '3-5; 3-6', '3-5 3-6', '3-5, x', '12-0', '9999-0'],
    ...['3-5, 12-0', '99999-0', '3-281474976710656', '٣-٥', '3-9223372036854775807', `3-${'9'.repeat(400)}`],
  ])('is rejected as %j', (header) => {
    expect(() => tokenOf(header, PARTITIONS)).toThrow(refused)
  })

  it('is rejected when the header is longer than a position for each partition, and than several responses joined', () => {
    const joined = (count: number) => Array(count).fill('1-100000').join(', ')
    expect([...tokenOf(joined(100), PARTITIONS)]).toEqual([[1, 100_000]])
    expect(() => tokenOf(joined(101), PARTITIONS)).toThrow(refused)
    expect(() => tokenOf(' '.repeat(30_000), MOST_PARTITIONS)).toThrow(refused)
  })
})

it('is named by the failure of a read, with a remedy for one of another store, which no log may reach', () => {
  const { message } = notCovered(tokenOf('3-17', PARTITIONS), undefined)
  expect(message).toMatch(/the position 3-17 .* or without it if the store has moved$/)
})
