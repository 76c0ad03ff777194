import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventIds, newPlants, plantIds } from '../../../tests/support/generated-plants.ts'
import type { EventId } from './event-id.ts'
import { type PlantId, plantOf } from './plant.ts'
import {
  PARKED,
  parseTraceparent,
  plantCreated,
  readRecord,
  type StoredRecord,
  type Traceparent,
} from './plant-created.ts'
import { type Offset, type Partition, partitionOf } from './position.ts'

const PARTITIONS = 12
const OFFSET = 7 as Offset
const EVENT_ID = '0b5a1ae2-7d4b-4e6f-8a3c-1f2e3d4c5b6a' as EventId
const ID = 42n as PlantId
const HOME = partitionOf(Buffer.from('42'), PARTITIONS)

/** A valid record of plant 42 with some parts replaced. */
function stored(change: Partial<Omit<StoredRecord, 'headers'>> = {}, headers: object = {}): StoredRecord {
  const record = plantCreated({ id: ID, name: 'Ficus', tag: 'tree' }, EVENT_ID, PARTITIONS)
  return { offset: OFFSET, ...record, ...change, headers: { ...record.headers, ...headers } }
}
const payload = (text: string) => stored({ value: Buffer.from(text) })
/** A payload with this many nested lists, within the object. */
const nested = (lists: number) => `{"x":${'['.repeat(lists)}${']'.repeat(lists)},"id":"42","name":"n"}`
const read = (record: StoredRecord, partition: Partition = HOME) => readRecord(record, partition, PARTITIONS)

describe('an event that creates a plant', () => {
  it('reads as it was written, for any plant', () => {
    fc.assert(
      fc.property(newPlants, eventIds, fc.integer({ min: 1, max: 100 }), (plant, eventId, partitions) => {
        const { partition, ...record } = plantCreated(plant, eventId, partitions)
        expect(readRecord({ offset: OFFSET, ...record }, partition, partitions)).toEqual({
          offset: OFFSET,
          claim: { offset: OFFSET, id: plant.id, eventId, plant: plantOf(plant) },
        })
      }),
    )
  })

  it('is in the partition of its key, which is the id as text', () => {
    fc.assert(
      fc.property(newPlants, eventIds, (plant, eventId) => {
        const { key, partition } = plantCreated(plant, eventId, PARTITIONS)
        expect(key.toString()).toBe(plant.id.toString())
        expect(partition).toBe(partitionOf(key, PARTITIONS))
      }),
    )
  })

  it('is a CloudEvent 1.0 in binary mode with five headers, and its payload has the id as a text', () => {
    const { headers, value } = plantCreated({ id: -7n as PlantId, name: 'n' }, EVENT_ID, PARTITIONS)
    const texts = Object.entries(headers).map(([name, bytes]) => [name, bytes.toString()])
    expect(Object.fromEntries(texts)).toEqual({
      ce_specversion: '1.0',
      ce_source: '/plants',
      ce_type: 'PlantCreated',
      ce_id: EVENT_ID,
      'content-type': 'application/json; version=1',
    })
    expect(value.toString()).toBe('{"id":"-7","name":"n"}')
  })

  it('carries the trace of its request as one more header, and reads as it would without', () => {
    const traceparent = parseTraceparent('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01') as Traceparent
    fc.assert(
      fc.property(newPlants, eventIds, (plant, eventId) => {
        const bare = plantCreated(plant, eventId, PARTITIONS)
        const traced = plantCreated(plant, eventId, PARTITIONS, traceparent)
        expect(traced).toEqual({
          ...bare,
          headers: { ...bare.headers, traceparent: Buffer.from(traceparent) },
        })
        const [first, second] = [bare, traced].map(({ partition, ...record }) =>
          readRecord({ offset: OFFSET, ...record }, partition, PARTITIONS),
        )
        expect(second).toEqual(first)
      }),
    )
  })

  it('of version 1 is readable in every release', () => {
    const record = {
      offset: OFFSET,
      key: Buffer.from('39303037313939323534373430393933', 'hex'),
      value: Buffer.from(
        '7b226964223a2239303037313939323534373430393933222c226e616d65223a22c398796520f09f8cb1222c22746167223a22227d',
        'hex',
      ),
      headers: {
        ce_specversion: Buffer.from('312e30', 'hex'),
        ce_source: Buffer.from('2f706c616e7473', 'hex'),
        ce_type: Buffer.from('506c616e7443726561746564', 'hex'),
        'content-type': Buffer.from('6170706c69636174696f6e2f6a736f6e3b2076657273696f6e3d31', 'hex'),
        ce_id: Buffer.from('30623561316165322d376434622d346536662d386133632d316632653364346335623661', 'hex'),
      },
    }
    expect(readRecord(record, 3 as Partition, 6)).toEqual({
      offset: OFFSET,
      claim: {
        offset: OFFSET,
        id: 9007199254740993n,
        eventId: EVENT_ID,
        plant: { name: 'Øye 🌱', tag: '' },
      },
    })
  })
})

describe('a foreign record is parked and does not claim an id', () => {
  it.each<[string, number, StoredRecord]>([
    ['it has no type', PARKED.otherType, stored({}, { ce_type: undefined })],
    ['it has a type without content', PARKED.otherType, stored({}, { ce_type: null })],
    ['it has another type', PARKED.otherType, stored({}, { ce_type: Buffer.from('PlantRemoved') })],
    ['its type is written differently', PARKED.otherType, stored({}, { ce_type: Buffer.from('plantcreated') })],
    [
      'it has two types',
      PARKED.otherType,
      stored({}, { ce_type: [Buffer.from('PlantCreated'), Buffer.from('PlantCreated')] }),
    ],
    ['it has no headers', PARKED.otherType, { ...stored(), headers: {} }],
    ['it has no key', PARKED.badKey, stored({ key: null })],
    ['its key is empty', PARKED.badKey, stored({ key: Buffer.alloc(0) })],
    ['its key is no canonical decimal', PARKED.badKey, stored({ key: Buffer.from('042') })],
    ['its key is beyond int64', PARKED.badKey, stored({ key: Buffer.from('9223372036854775808') })],
    ['its key has digits of another script', PARKED.badKey, stored({ key: Buffer.from('٤٢') })],
    [
      'its key is bytes that only look like digits in 7 bits',
      PARKED.badKey,
      stored({ key: Buffer.from([0xb4, 0xb2]) }),
    ],
    ['it has no event id', PARKED.badEventId, stored({}, { ce_id: undefined })],
    ['it has an event id without content', PARKED.badEventId, stored({}, { ce_id: null })],
    ['its event id is no UUID', PARKED.badEventId, stored({}, { ce_id: Buffer.from('1') })],
    ['its event id is in upper case', PARKED.badEventId, stored({}, { ce_id: Buffer.from(EVENT_ID.toUpperCase()) })],
    ['it has two event ids', PARKED.badEventId, stored({}, { ce_id: [Buffer.from(EVENT_ID), Buffer.from(EVENT_ID)] })],
  ])('when %s', (_reason, parked, record) => {
    expect(read(record)).toEqual({ offset: OFFSET, parked })
  })

  it('when it is in another partition than its key', () => {
    fc.assert(
      fc.property(plantIds, eventIds, fc.nat(PARTITIONS - 1), (id, eventId, elsewhere) => {
        const { partition, ...record } = plantCreated({ id, name: 'n' }, eventId, PARTITIONS)
        fc.pre(elsewhere !== partition)
        const found = readRecord({ offset: OFFSET, ...record }, elsewhere as Partition, PARTITIONS)
        expect(found).toEqual({ offset: OFFSET, parked: PARKED.wrongPartition })
      }),
    )
  })
})

describe('a claim that this release cannot read is parked and keeps its id', () => {
  const claim = { offset: OFFSET, id: ID, eventId: EVENT_ID, plant: undefined }

  it.each<[string, StoredRecord]>([
    ['no version', stored({}, { 'content-type': undefined })],
    ['a version without content', stored({}, { 'content-type': null })],
    ['another version', stored({}, { 'content-type': Buffer.from('application/json; version=2') })],
    ['two versions', stored({}, { 'content-type': [Buffer.from('application/json; version=1'), Buffer.from('x')] })],
  ])('with %s', (_fault, record) => {
    expect(read(record)).toEqual({ offset: OFFSET, claim, parked: PARKED.unknownVersion })
  })

  it.each<[string, StoredRecord]>([
    ['no payload', stored({ value: null })],
    ['an empty payload', payload('')],
    ['a payload that is no JSON', payload('{"id":"42","name":"n"')],
    ['bytes that are no UTF-8', stored({ value: Buffer.from('{"id":"42","name":"\xff"}', 'latin1') })],
    ['a byte order mark', payload('\ufeff{"id":"42","name":"n"}')],
    ['half a surrogate pair, escaped', payload('{"id":"42","name":"\\ud83c"}')],
    ['half a surrogate pair, encoded', stored({ value: Buffer.from('{"id":"42","name":"\xed\xa0\x80"}', 'latin1') })],
    ['half a surrogate pair in the tag', payload('{"id":"42","name":"n","tag":"\\udf31"}')],
    ['a payload that is a list', payload('["42","n"]')],
    ['a payload that is null', payload('null')],
    ['no name', payload('{"id":"42"}')],
    ['a name that is no text', payload('{"id":"42","name":1}')],
    ['null as its tag', payload('{"id":"42","name":"n","tag":null}')],
    ['a name that is too long', payload(JSON.stringify({ id: '42', name: 'n'.repeat(1_001) }))],
    ['the id of another plant', payload('{"id":"43","name":"n"}')],
    ['the id as a number', payload('{"id":42,"name":"n"}')],
    ['no id', payload('{"name":"n"}')],
    ['its name in a prototype', payload('{"id":"42","__proto__":{"name":"n"}}')],
    ['its id in a prototype', payload('{"name":"n","__proto__":{"id":"42"}}')],
    ['65 levels in a field that nobody knows', payload(nested(64))],
    ['65 levels in the earlier one of equal names', payload(nested(64).replace('x', 'name'))],
    ['so many levels that a recursive parser would break', payload(nested(100_000))],
    ['another name after the one it has', payload('{"id":"42","name":"n","name":1}')],
    ['an invalid number', payload('{"id":"42","name":"n","x":NaN}')],
    ['a control character that is not escaped', payload('{"id":"42","name":"\n"}')],
    ['something after it', payload('{"id":"42","name":"n"} 1')],
    ['a space that JSON does not allow', payload('\u00a0{"id":"42","name":"n"}')],
  ])('with %s', (_fault, record) => {
    expect(read(record)).toEqual({ offset: OFFSET, claim, parked: PARKED.unreadablePayload })
  })
})

describe('what else a payload may contain', () => {
  it.each([
    ['fields that nobody knows', '{"id":"42","name":"n","colour":"green"}'],
    ['a prototype', '{"id":"42","name":"n","__proto__":{"tag":"t"}}'],
    ['a constructor', '{"id":"42","name":"n","constructor":{"prototype":{"tag":"t"}}}'],
    ['escapes', '{"id":"\\u0034\\u0032","name":"\\u006e"}'],
    ['space', ' { "id" : "42" , "name" : "n" } \n'],
    ['64 levels', nested(63)],
    ['any number of levels one after the other', `{"x":[${'[],{},'.repeat(100)}0],"id":"42","name":"n"}`],
    ['brackets in texts', `{"x":"${'[{\\"'.repeat(100)}","id":"42","name":"n"}`],
    ['numbers of any size', `{"x":[1e999,-0,${'9'.repeat(5_000)}],"id":"42","name":"n"}`],
    ['half a surrogate pair in a field that nobody knows', '{"id":"42","name":"n","x":"\\ud83c"}'],
    ['an earlier one of equal names', '{"id":42,"name":1,"id":"42","name":"n"}'],
    ['escapes in the names of fields', '{"\\u0069d":"42","n\\u0061me":"n"}'],
  ])('%s', (_what, text) => {
    const found = read(payload(text))
    expect(found).toEqual({
      offset: OFFSET,
      claim: { offset: OFFSET, id: ID, eventId: EVENT_ID, plant: { name: 'n' } },
    })
    expect(Object.getPrototypeOf(found.claim?.plant)).toBe(Object.prototype)
  })
})

describe('for any record', () => {
  const bytes = fc.option(fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)))
  const headerValue = fc.oneof(
    bytes,
    fc.array(
      fc.string().map((text) => Buffer.from(text)),
      { maxLength: 2 },
    ),
  )
  const anyHeaders = fc.dictionary(
    fc.constantFrom('ce_type', 'ce_id', 'content-type', 'traceparent', '__proto__', 'x'),
    headerValue,
  )

  it('the claim never depends on the payload or the version', () => {
    fc.assert(
      fc.property(newPlants, eventIds, bytes, headerValue, (plant, eventId, value, version) => {
        const { partition, ...record } = plantCreated(plant, eventId, PARTITIONS)
        const headers = { ...record.headers, 'content-type': version }
        for (const changed of [{ value }, { headers }, { value, headers }]) {
          const { claim } = readRecord({ offset: OFFSET, ...record, ...changed }, partition, PARTITIONS)
          expect(claim).toMatchObject({ offset: OFFSET, id: plant.id, eventId })
        }
      }),
    )
  })

  it('reading never throws, whatever the bytes are', () => {
    fc.assert(
      fc.property(bytes, bytes, anyHeaders, fc.boolean(), (key, value, headers, alike) => {
        const record = alike ? stored({ key, value }, headers) : { offset: OFFSET, key, value, headers }
        const { claim, parked } = read(record)
        expect(claim?.plant !== undefined || parked !== undefined).toBe(true)
      }),
    )
  })

  it('one changed byte of the payload never changes who claims what, and never makes text that is not Unicode', () => {
    fc.assert(
      fc.property(newPlants, fc.nat(), fc.nat(255), (plant, at, byte) => {
        const { partition, ...record } = plantCreated(plant, EVENT_ID, PARTITIONS)
        const value = Buffer.from(record.value)
        value[at % value.length] = byte
        const { claim } = readRecord({ offset: OFFSET, ...record, value }, partition, PARTITIONS)
        expect(claim).toMatchObject({ id: plant.id, eventId: EVENT_ID })
        expect(claim?.plant?.name.isWellFormed() ?? true).toBe(true)
      }),
    )
  })

  it('the numbers of the reasons stay as they were stored', () => {
    expect(PARKED).toEqual({
      ...{
        otherType: 1,
        badKey: 2,
        wrongPartition: 3,
        badEventId: 4,
        unknownVersion: 5,
        unreadablePayload: 6,
      },
    })
  })
})
