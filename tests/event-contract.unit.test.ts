import { readFileSync } from 'node:fs'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import {
  type NewPlant,
  PLANT_EXAMPLES,
  PLANT_FIELDS,
  type PlantId,
  parsePlantId,
} from '@plant-store/shared/plant/plant.ts'
import { PARKED, plantCreated, readRecord, type Traceparent } from '@plant-store/shared/plant/plant-created.ts'
import { plantStored } from '@plant-store/shared/plant/plant-stored.ts'
import { FIRST, murmur2, type Offset, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { eventIds, newPlant, newPlants, plantIds } from './support/generated-plants.ts'

type Example = { headers: Record<string, string>; payload: { id: string; name: string; tag?: string } }

const docs = (path: string) => readFileSync(new URL(`../docs/${path}`, import.meta.url), 'utf8')
const schema = JSON.parse(docs('schemas/plant-created.v1.schema.json'))
const asyncapi = parse(docs('asyncapi.yaml'))
const page = docs('reference/events.md')
const { PlantCreated: message } = asyncapi.components.messages
const examples: Example[] = message.examples

// `format` is a note for readers; validation uses patterns.
const ajv = new Ajv2020({ strict: true, formats: { 'uri-reference': true, 'date-time': true } })
const isPayload = ajv.compile<Example['payload']>(schema)
const areHeaders = ajv.compile(asyncapi.components.schemas.Headers)
const areStoredHeaders = ajv.compile(asyncapi.components.schemas.StoredHeaders)

const PARTITIONS = 12
const ID = 42n as PlantId
const EVENT_ID = '0b5a1ae2-7d4b-4e6f-8a3c-1f2e3d4c5b6a' as EventId
const ours = plantCreated(newPlant(ID, { name: 'Ficus' }), EVENT_ID, PARTITIONS, { timeMs: 0 })
/** The other members that a payload must have besides its id and name. */
const { name: _, ...OTHERS } = PLANT_FIELDS.textsOf(PLANT_EXAMPLES.bare)
const headersOf = (texts: Record<string, string>) =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]))
const read = (change: object, partition: Partition = ours.partition) =>
  readRecord({ offset: FIRST, ...ours, ...change }, partition, PARTITIONS)

// All that a text, or something else in its place, may be: also lone surrogates, and too long by one.
const unit = fc.constantFrom('a', 'é', '🌱', '\u0000', '\ud83c', '\udf31', '\u2028', '\ufffe', '"', '\\')
const texts = fc.oneof(
  fc.array(unit, { maxLength: 6 }).map((units) => units.join('')),
  fc
    .tuple(fc.constantFrom('a', '🌱', '\u0301'), fc.integer({ min: 999, max: 1_001 }))
    .map(([one, count]) => one.repeat(count)),
)
const others = fc.constantFrom(null, 1, true, [], {}, ['a'])
const values = fc.oneof({ weight: 4, arbitrary: texts }, { weight: 1, arbitrary: others })
const idTexts = fc.oneof(
  plantIds.map(String),
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc.bigInt({ min: -20n, max: 20n }).map((by) => String(2n ** 63n + by)),
  fc.bigInt({ min: -20n, max: 20n }).map((by) => String(-(2n ** 63n) + by)),
  fc.stringMatching(/^[-+ ]?0{0,2}[0-9]{0,20}[.\n ]?$/),
)

describe('the schema of version 1', () => {
  it('accepts a payload if and only if a reader does, whatever its fields are', () => {
    const payload = fc.record(
      { id: fc.constantFrom('42', '43', 42, null), name: values, tag: values, colour: values },
      { requiredKeys: [] },
    )
    const accepted: boolean[] = []
    fc.assert(
      fc.property(fc.oneof({ weight: 20, arbitrary: payload }, values), (given) => {
        const isRecord = typeof given === 'object' && given !== null && !Array.isArray(given)
        const value = Buffer.from(JSON.stringify(isRecord ? { ...OTHERS, ...given } : given))
        const parsed: unknown = JSON.parse(value.toString())
        // A schema can't express that the id equals the key.
        const takes = isPayload(parsed) && parsed.id === '42'
        const { plant } = read({ value }).claim ?? {}
        expect(plant && PLANT_FIELDS.textsOf(plant)).toEqual(takes ? PLANT_FIELDS.copyOf(parsed as never) : undefined)
        accepted.push(takes)
      }),
      { numRuns: 3_000 },
    )
    for (const taken of [true, false]) expect(accepted.filter((one) => one === taken).length).toBeGreaterThan(100)
  })

  it('accepts an id if and only if it is a valid key', () => {
    fc.assert(
      fc.property(idTexts, (id) => {
        expect(isPayload({ ...OTHERS, id, name: 'n' })).toBe(parsePlantId(id) !== undefined)
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('the AsyncAPI document', () => {
  it('accepts the headers of each event, with and without a time, and of each record of the table', () => {
    fc.assert(
      fc.property(
        newPlants,
        eventIds,
        fc.nat(),
        fc.option(fc.nat(), { nil: undefined }),
        (plant, eventId, at, timeMs) => {
          const { headers } = plantCreated(plant, eventId, PARTITIONS, { ...(timeMs !== undefined && { timeMs }) })
          expect([areHeaders(textsOf(headers)), areStoredHeaders(textsOf(headers))]).toEqual([true, false])
          const row = plantStored({ id: plant.id, eventId, offset: at as Offset, plant }, ours.partition)
          expect(areStoredHeaders(textsOf(row.headers))).toBe(true)
        },
      ),
    )
  })

  it('accepts headers if and only if a reader finds a claim of version 1 in them', () => {
    const damaged = (text: string) =>
      fc.oneof(
        fc.constantFrom(text, text.toUpperCase(), '', ` ${text}`, `${text}\n`, text.slice(1)),
        fc.string(),
        fc.constant(undefined),
      )
    const headers = fc.record({
      ce_type: damaged('PlantCreated'),
      ce_id: fc.oneof(eventIds, damaged(EVENT_ID)),
      'content-type': damaged('application/json; version=1'),
    })
    fc.assert(
      fc.property(headers, (changed) => {
        const given = { ...textsOf(ours.headers), ...changed }
        const present = Object.fromEntries(
          Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
        )
        expect(areHeaders(present)).toBe(read({ headers: headersOf(present) }).claim?.plant !== undefined)
      }),
      { numRuns: 2_000 },
    )
  })

  it('has examples that equal what is written, byte for byte', () => {
    for (const { headers, payload } of examples) expectAsWritten(payload.id, headers, JSON.stringify(payload))
  })
})

describe('the page', () => {
  it('describes the partitioning of keys as the code does it', () => {
    const rows = [...page.matchAll(/^\| `(-?\d+)` \| ([-\d |]+) \|$/gm)]
    expect(rows.length).toBeGreaterThan(5)
    for (const [, text = '', numbers = ''] of rows) {
      const key = Buffer.from(text)
      const hash = murmur2(key)
      expect(numbers.split(' | ').map(Number), text).toEqual([
        ...[hash, hash & 0x7fffffff],
        ...[1, 3, 6, 12].map((partitions) => partitionOf(key, partitions)),
      ])
    }
  })

  it('lists the reasons in the order in which they are checked', () => {
    const rows = [...page.matchAll(/^\| (\d) \| .* \| `(\w+)` \|$/gm)]
    expect(rows.map(([, number, name]) => [name, Number(number)])).toEqual(Object.entries(PARKED))
  })

  it('shows a record exactly as it is written', () => {
    const [, key = '', headers = '', value = ''] =
      /```\nkey {6}(\S+)\nheaders ([\s\S]*?)\nvalue {4}(\S.*)\n```/.exec(page) ?? []
    const example = Object.fromEntries(
      headers.split('\n').map((line) => {
        const [name = '', text = ''] = line.trim().split(/ {2,}/)
        return [name, text]
      }),
    )
    expectAsWritten(key, example, value)
  })
})

/** Expects the record of an event with this key, these headers and this payload to be the one that is written. */
function expectAsWritten(key: string, headers: Record<string, string>, payload: string): void {
  const { ce_id: eventId, ce_time: time, traceparent } = headers
  const plant = { ...JSON.parse(payload), id: BigInt(key) } as NewPlant
  const context = { ...(time && { timeMs: Date.parse(time) }), traceparent: traceparent as Traceparent | undefined }
  const record = plantCreated(plant, eventId as EventId, PARTITIONS, context)
  expect([record.key.toString(), textsOf(record.headers), record.value.toString()]).toEqual([key, headers, payload])
}

function textsOf(headers: Record<string, Buffer>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, bytes]) => [name, bytes.toString()]))
}
