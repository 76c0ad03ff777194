import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventIds, NAME_AND_TAG, plantIds, plants, plantWith } from '../../../tests/support/generated-plants.ts'
import { payloadOf, version1 } from './payload.ts'
import { MAX_TEXT_CODE_POINTS, type NewPlant, type PlantId } from './plant.ts'
import { type NewRecord, plantCreated, readRecord } from './plant-created.ts'
import { FIRST } from './position.ts'

const PARTITIONS = 12

const asciiTexts = fc.string({ unit: 'grapheme-ascii', maxLength: 30 })
/** As long as a text may be, one more, and one less. */
const longTexts = fc.integer({ min: -1, max: 1 }).map((more) => 'x'.repeat(MAX_TEXT_CODE_POINTS + more))
const texts = fc.oneof({ weight: 4, arbitrary: asciiTexts }, { weight: 1, arbitrary: longTexts })
const newPlants: fc.Arbitrary<NewPlant> = fc
  .tuple(plantIds, fc.oneof(plants, fc.record({ name: texts, tag: texts }), fc.record({ name: texts })))
  .map(([id, plant]) => ({ ...plantWith(plant), id }))

/** One byte more, less or other, most often one that means something in JSON, or none at all. */
const meaningful = fc.constantFrom(...Buffer.from('{}[]":,\\ x7u\n\t'), 0, 0x1f, 0x20, 0x7e, 0x7f, 0x80, 0xc3, 0xff)
const bytes = fc.oneof({ weight: 3, arbitrary: meaningful }, { weight: 1, arbitrary: fc.nat(255) })
const damages = fc.record({
  /** The place in the payload: 0 its begin, 1 behind its end. */
  at: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 1)),
  taken: fc.nat(2),
  put: fc.array(bytes, { maxLength: 2 }),
})
const payloads = fc.tuple(newPlants, eventIds, fc.array(damages, { maxLength: 2 })).map(([plant, eventId, all]) => {
  const record = plantCreated(plant, eventId, PARTITIONS)
  const value = all.reduce((payload, { at, taken, put }) => {
    const cut = Math.floor(at * payload.length)
    return Buffer.concat([payload.subarray(0, cut), Buffer.from(put), payload.subarray(cut + taken)])
  }, record.value)
  return { ...record, value }
})

const read = (record: NewRecord) => readRecord({ offset: FIRST, ...record }, record.partition, PARTITIONS)

describe('a payload that is read byte by byte', () => {
  it('gives the same plant as the JSON parser, also for other payloads', () => {
    fc.assert(
      fc.property(payloads, (record) => {
        // A payload that begins with a space means the same, and is never of the form.
        const forParser = Buffer.concat([Buffer.from(' '), record.value])
        expect(version1.readCanonical(forParser, record.key)).toBeUndefined()
        expect(read(record)).toEqual(read({ ...record, value: forParser }))
      }),
      { numRuns: 5_000 },
    )
  })

  it.each<[string, Pick<NewPlant, 'name' | 'tag'>]>([
    ['a name', { name: 'Monstera deliciosa' }],
    ['a name and a tag', { name: 'Monstera deliciosa', tag: 'shade' }],
    ['empty texts', { name: '', tag: '' }],
    ['all that stands for itself', { name: ' !#[]^~', tag: '{},:' }],
    ['the longest texts', { name: 'x'.repeat(MAX_TEXT_CODE_POINTS), tag: 'y'.repeat(MAX_TEXT_CODE_POINTS) }],
  ])('is what is written of %s', (_what, plant) => {
    const { write, readCanonical } = payloadOf(NAME_AND_TAG)
    expect(readCanonical(write(-7n as PlantId, plant), Buffer.from('-7'))).toEqual(plant)
  })
})
