import { expect, it } from 'vitest'
import { kafkajsModule } from './kafkajs.ts'

const Encoder = kafkajsModule('src/protocol/encoder.js')
const Decoder = kafkajsModule('src/protocol/decoder.js')
const encodeHeader = kafkajsModule('src/protocol/recordBatch/header/v0/index.js')
const decodeRecord = kafkajsModule('src/protocol/recordBatch/record/v0/decoder.js')

type Headers = [name: string, value: Buffer | null][]

function decoded(headers: Headers, context: object = {}) {
  const { buffer } = new Encoder()
    .writeInt8(0)
    .writeVarLong(5)
    .writeVarInt(7)
    .writeVarIntBytes(Buffer.from('42'))
    .writeVarIntBytes(null)
    .writeVarIntArray(headers.map(([key, value]) => encodeHeader({ key, value })))
  return decodeRecord(new Decoder(buffer), {
    ...{ firstOffset: '1000', firstTimestamp: '1795281883402', magicByte: 2, maxTimestamp: '1795281883999' },
    ...context,
  })
}
const [one, two, three] = ['1', '2', '3'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]

it('decodes what is in a record', () => {
  expect(decoded([['ce_type', one]])).toMatchObject({
    ...{ magicByte: 2, attributes: 0, offset: '1007', timestamp: '1795281883407', isControlRecord: false },
    ...{ key: Buffer.from('42'), value: null, headers: { ce_type: one } },
  })
})

it('takes the time of the append where the topic is of that kind', () => {
  expect(decoded([], { timestampType: 1 }).timestamp).toBe('1795281883999')
  expect(decoded([], { timestampType: 0 }).timestamp).toBe('1795281883407')
})

it.each<[string, Headers, object]>([
  [
    'twice',
    [
      ['a', one],
      ['a', two],
    ],
    { a: [one, two] },
  ],
  [
    'three times',
    [
      ['a', one],
      ['b', two],
      ['a', two],
      ['a', three],
    ],
    { a: [one, two, three], b: two },
  ],
  [
    'first without a value',
    [
      ['a', null],
      ['a', one],
    ],
    { a: [null, one] },
  ],
  ['without a value', [['a', null]], { a: null }],
  [
    'under a name that objects inherit',
    [
      ['constructor', one],
      ['toString', two],
    ],
    { constructor: one, toString: two },
  ],
])('has a header that comes %s', (_how, headers, expected) => {
  expect(decoded(headers).headers).toEqual(expected)
})

it('has a header named __proto__, and it is no more than a header', () => {
  const { headers } = decoded([
    ['__proto__', one],
    ['a', two],
  ])
  expect(Object.entries(headers)).toEqual([
    ['__proto__', one],
    ['a', two],
  ])
  expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
})

it('takes a record of very many headers, each of which is looked at once', () => {
  const many = Array.from({ length: 100_000 }, (_, index): Headers[number] => [`header-${index}`, null])
  expect(Object.keys(decoded(many).headers)).toHaveLength(many.length)
})
