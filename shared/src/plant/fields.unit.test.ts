import fc from 'fast-check'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { contents, eventIds, NAME_AND_TAG, plantIds } from '../../../tests/support/generated-plants.ts'
import { EntryError, entriesOf } from './entry.ts'
import { type EventId, keyedEventIdWith } from './event-id.ts'
import {
  acceptedFields,
  type Declaration,
  enumeration,
  type FieldValues,
  fieldsOf,
  int64,
  type Presence,
  propertiesOf,
  text,
} from './fields.ts'
import { payloadOf } from './payload.ts'
import type { Plant, PlantId } from './plant.ts'
import { offsetOf } from './position.ts'

/** The fields of a plant, and later ones of each kind. */
const LATER = {
  name: text('required', 'The name', ['Fern'], 4),
  tag: text('optional', 'The tag', ['shade'], 4),
  origin: text('added', 'The origin', ['Chile'], 4),
  height: int64('added', 'The height', [7n]),
  state: enumeration('announced', 'The state', ['seed', 'grown']),
}
const Schema = Type.Object(propertiesOf(LATER))
type Later = Static<typeof Schema>

const ID = 42n as PlantId
const KEY = Buffer.from('42')
const EVENT_ID = '0b5a1ae2-7d4b-4e6f-8a3c-1f2e3d4c5b6a' as EventId
const HEAD = `${EVENT_ID.replaceAll('-', '')}00000000002a`
const claimOf = <C>(plant: C) => ({ id: ID, eventId: EVENT_ID, offset: offsetOf(42), plant })

const fieldOf = (presence: Presence): fc.Arbitrary<Declaration[string]> =>
  fc.oneof(
    fc.integer({ min: 1, max: 40 }).map((max) => text(presence, '', [''], max)),
    fc.constant(int64(presence, '', [0n])),
    fc.constant(enumeration(presence, '', ['open', '', 'Øl "🌱"'])),
  )
const optional = fc.constantFrom<Presence>('optional', 'added', 'announced').chain(fieldOf)
const declarations = fc
  .tuple(fieldOf('required'), fc.array(fieldOf('required'), { maxLength: 2 }), fc.array(optional, { maxLength: 8 }))
  .chain(([first, required, others]) => {
    const rest = [...required, ...others]
    return fc
      .shuffledSubarray(rest, { minLength: rest.length })
      .map((shuffled): Declaration => Object.fromEntries([first, ...shuffled].map((one, n) => [`f${n}`, one])))
  })
/** Declared fields, and some plants that have them. */
const declared = declarations.chain((declaration) => {
  const fields = fieldsOf<FieldValues>(declaration)
  return fc.tuple(fc.constant(fields), fc.array(contents(fields.fields), { minLength: 2, maxLength: 2 }))
})

describe('any declared fields', () => {
  it('have a payload, which reads as it was written, byte by byte if it is plain ASCII', () => {
    fc.assert(
      fc.property(declared, ([fields, plants]) => {
        const { write, read, readCanonical } = payloadOf(fields)
        for (const plant of plants) {
          const payload = write(ID, plant)
          expect(read(payload, ID, KEY)).toEqual(plant)
          const isPlain = Object.values(fields.textsOf(plant)).every((text) => /^[ !#-[\]-~]*$/.test(text))
          expect(readCanonical(payload, KEY)).toEqual(isPlain ? plant : undefined)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('have an entry of at most the reserved bytes, which decodes to the encoded claim', () => {
    fc.assert(
      fc.property(declared, plantIds, eventIds, ([fields, [plant = {}]], id, eventId) => {
        const { encodeEntry, decodeEntry, maxEntryBytes } = entriesOf(fields)
        const claim = { ...claimOf(plant), id, eventId }
        const entry = encodeEntry(claim)
        expect(decodeEntry(id, entry)).toEqual(claim)
        expect(entry.length).toBeLessThanOrEqual(maxEntryBytes(claim))
      }),
      { numRuns: 500 },
    )
  })

  it('have the same keyed event id if and only if their values are the same', () => {
    fc.assert(
      fc.property(declared, fc.boolean(), ([fields, [one = {}, another = {}]], isMixed) => {
        const idOf = (plant: FieldValues) => keyedEventIdWith(fields)('ann', 'k', { id: ID, ...plant } as never)
        // The same plant with each value, or each absence, of the other one is most like it.
        const others = fields.fields.map(({ name }) => ({ ...one, [name]: another[name] }))
        for (const other of isMixed ? others : [another]) {
          const isSame = JSON.stringify(fields.textsOf(one)) === JSON.stringify(fields.textsOf(other))
          expect(idOf(one) === idOf(other)).toBe(isSame)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

it('a release that knows fewer fields ignores the others in a payload, writes the same without them, and reads no entry with one', () => {
  const [newer, older] = [fieldsOf<Later>(LATER), NAME_AND_TAG]
  for (const plant of [{ name: 'n' }, { name: 'n', tag: '' }] satisfies Pick<Plant, 'name' | 'tag'>[]) {
    const written = payloadOf(newer).write(ID, { ...plant, origin: 'Peru', height: -1n, state: 'seed' })
    expect(payloadOf(older).read(written, ID, KEY)).toEqual(plant)
    expect(payloadOf(older).write(ID, plant)).toEqual(payloadOf(newer).write(ID, plant))
    expect(entriesOf(older).encodeEntry(claimOf(plant))).toEqual(entriesOf(newer).encodeEntry(claimOf(plant)))
    const [oldId, newId] = [keyedEventIdWith(older), keyedEventIdWith(newer)]
    expect(newId('ann', 'k', { id: ID, ...plant })).toBe(oldId('ann', 'k', { id: ID, ...plant }))
  }
  for (const more of [{ origin: '' }, { height: 0n }, { state: 'seed' }] satisfies Partial<Later>[]) {
    const entry = entriesOf(newer).encodeEntry(claimOf({ name: 'n', ...more }))
    expect(() => entriesOf(older).decodeEntry(ID, entry)).toThrow(EntryError)
  }
})

const STRICT = { name: LATER.name, size: int64('optional', '', [0n]), state: enumeration('required', '', ['seed']) }
it.each<[string, object | undefined, Declaration]>([
  ['"origin":"Peru","height":"-7","state":"seed"', { origin: 'Peru', height: -7n, state: 'seed' }, LATER],
  ['"origin":"\\ud83c","height":"9223372036854775808","state":""', {}, LATER],
  ['"tag":"shade"', undefined, LATER],
  ['"size":"7","state":"seed"', { size: 7n, state: 'seed' }, STRICT],
  ['"size":"7"', undefined, STRICT],
  ['"state":"grown"', undefined, STRICT],
])(
  'another value of a later field is ignored, and of any other makes the payload unreadable: %s',
  (fields, more, of) => {
    const payload = Buffer.from(`{"id":"42","name":"n",${fields}}`)
    const plant = payloadOf(fieldsOf<FieldValues>(of)).read(payload, ID, KEY)
    expect(plant).toEqual(more && { name: 'n', ...more })
  },
)

// Entries outlive releases: these bytes must always read so. The fuzz target redisEntry shows that no others do.
const [ofPlant, ofLater] = [entriesOf(NAME_AND_TAG), entriesOf(fieldsOf<Later>(LATER))]

const FORMS_0_TO_2: [string, Pick<Plant, 'name' | 'tag'> | undefined][] = [
  [`00${HEAD}`, undefined],
  [`01${HEAD}c3986c`, { name: 'Øl' }],
  [`01${HEAD}`, { name: '' }],
  [`02${HEAD}0003c3986c7472`, { name: 'Øl', tag: 'tr' }],
  [`02${HEAD}0000`, { name: '', tag: '' }],
]
const FORM_3: [string, Later][] = [
  [`03${HEAD}000500024f6c000178`, { name: 'Ol', origin: 'x' }],
  [
    `03${HEAD}001f0003c3986c000000017800022d37000473656564`,
    { name: 'Øl', tag: '', origin: 'x', height: -7n, state: 'seed' },
  ],
]

it('an entry has fixed bytes in each form', () => {
  for (const [hex, plant] of FORMS_0_TO_2) {
    expect(ofPlant.encodeEntry(claimOf(plant)).toString('hex')).toBe(hex)
    expect(ofPlant.decodeEntry(ID, Buffer.from(hex, 'hex'))).toEqual(claimOf(plant))
  }
  for (const [hex, plant] of FORM_3) {
    expect(ofLater.encodeEntry(claimOf(plant)).toString('hex')).toBe(hex)
    expect(ofLater.decodeEntry(ID, Buffer.from(hex, 'hex'))).toEqual(claimOf(plant))
  }
})

it('the schemas accept values of the declared types, but none of an announced field', () => {
  const Both = Type.Object(propertiesOf({ size: LATER.height, state: enumeration('required', '', ['a', 'b']) }))
  expect(Value.Check(Both, { size: 2n ** 63n - 1n, state: 'b' })).toBe(true)
  for (const size of [2n ** 63n, 1, '1', null]) expect(Value.Check(Both, { size, state: 'a' })).toBe(false)
  for (const state of ['c', 1, null, undefined]) expect(Value.Check(Both, { size: 1n, state })).toBe(false)
  const settable = fieldsOf<FieldValues>(acceptedFields(LATER))
  expect(settable.copyOf({ name: 'n', height: 1n, state: 'seed' })).toEqual({ name: 'n', height: 1n })
})

it.each<[string, Declaration]>([
  ['begins with an optional field', { tag: LATER.tag }],
  ['has a reserved name', { name: LATER.name, offset: LATER.tag }],
  ['has a name that is no word', { name: LATER.name, 'a"b': LATER.tag }],
  ['has an entry that is too long', { name: text('required', '', [''], 20_000) }],
  ['has too many fields', Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`f${n}`, LATER.name]))],
])('a declaration is refused that %s', (_what, declaration) => {
  expect(() => fieldsOf(declaration)).toThrow(/^the declared fields/)
})
