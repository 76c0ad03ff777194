import { offsetOf, type Partition } from '@plant-store/shared/plant/offset.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatPosition, parsePosition } from './position.ts'

const PARTITIONS = 12

describe('the position that an answer gives and a request sends back', () => {
  it('comes back as it was given', () => {
    const positions = fc.record({
      partition: fc.nat(999).map((partition) => partition as Partition),
      offset: fc.oneof(fc.nat(), fc.nat({ max: 2 ** 48 - 1 }), fc.constant(2 ** 48 - 1)).map(offsetOf),
    })
    fc.assert(
      fc.property(positions, (position) => {
        expect(parsePosition(formatPosition(position), 1_000)).toEqual(position)
      }),
    )
  })

  it('need not be sent', () => {
    expect(parsePosition(undefined, PARTITIONS)).toBeUndefined()
  })

  it.each([
    ...[
      '',
      ' ',
      '-',
      '3',
      '3-',
      '-5',
      '3--5',
      '3-5-7',
      '3-5 ',
      ' 3-5',
      '3 - 5',
      '3-5\n',
      '3_5',
      'a-b',
      '3-1e3',
      '3-0x5',
    ],
    ...['3-1.0', '-3-5', '+3-5', '3-+5', '3-5, 3-6', '12-0', '9999-0', '99999-0', '3-281474976710656', '٣-٥'],
    ...['3-9223372036854775807', `3-${'9'.repeat(400)}`],
  ])('is refused as %j', (header) => {
    expect(() => parsePosition(header, PARTITIONS)).toThrow(
      expect.objectContaining({ failure: 'invalidPosition' }),
    )
  })

  it('is refused when it is sent twice', () => {
    const sendTwice = () => parsePosition(['3-5', '3-6'], PARTITIONS)
    expect(sendTwice).toThrow(expect.objectContaining({ failure: 'invalidPosition' }))
  })
})
