import type { RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import type { Offset } from '@plant-store/shared/plant/position.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { codePoints } from '../../../tests/support/generated-texts.ts'
import { lineOf, recordOf } from './record-line.ts'

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)),
  fc.string({ unit: codePoints, maxLength: 20 }).map((text) => Buffer.from(text)),
  fc.constantFrom('', '\ufeff', '{"base64":"AA=="}', 'null', '\n', '\u2028').map((text) => Buffer.from(text)),
)
const content = fc.option(bytes)
const records: fc.Arbitrary<RawRecord> = fc.record({
  offset: fc.integer({ min: 0, max: 2 ** 48 - 1 }).map((offset) => offset as Offset),
  timestamp: fc.oneof(fc.bigInt({ min: -1n, max: 2n ** 63n - 1n }), fc.constantFrom(-1n, 0n, 2n ** 53n)).map(String),
  key: content,
  value: content,
  headers: fc.array(fc.tuple(bytes, content), { maxLength: 5 }),
})

it('a record is read from its line as it was, and takes one line', () => {
  fc.assert(
    fc.property(records, (record) => {
      const line = lineOf(record)
      expect(line.indexOf('\n')).toBe(line.length - 1)
      expect(recordOf(line)).toEqual(record)
    }),
  )
})

it('an event is readable text', () => {
  const event = { offset: 7 as Offset, timestamp: '1700000000000', key: Buffer.from('42'), value: Buffer.from('{}') }
  expect(lineOf({ ...event, headers: [[Buffer.from('ce_type'), Buffer.from('PlantCreated')]] })).toBe(
    '{"offset":7,"timestamp":1700000000000,"key":"42","value":"{}","headers":[["ce_type","PlantCreated"]]}\n',
  )
})
