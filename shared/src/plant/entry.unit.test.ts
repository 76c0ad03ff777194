import { describe, expect, it } from 'vitest'
import { NAME_AND_TAG } from '../../../tests/support/generated-plants.ts'
import { EntryError, entriesOf } from './entry.ts'
import type { EventId } from './event-id.ts'
import type { Plant, PlantId } from './plant.ts'
import { offsetOf } from './position.ts'

const EVENT_ID = '0b5a1ae2-7d4b-4e6f-8a3c-1f2e3d4c5b6a' as EventId
const HEAD = `${EVENT_ID.replaceAll('-', '')}00000000002a`
const ID = 1n as PlantId
const OFFSET = offsetOf(42)
const { decodeEntry, encodeEntry } = entriesOf(NAME_AND_TAG)
const decode = (hex: string) => decodeEntry(ID, Buffer.from(hex, 'hex'))

describe('an entry of the read model', () => {
  // Entries outlive releases: these bytes must always read so.
  it.each<[string, string, Pick<Plant, 'name' | 'tag'> | undefined]>([
    ['an unreadable claim', `00${HEAD}`, undefined],
    ['a name', `01${HEAD}c3986c`, { name: 'Øl' }],
    ['an empty name', `01${HEAD}`, { name: '' }],
    ['a name and a tag', `02${HEAD}0003c3986c7472`, { name: 'Øl', tag: 'tr' }],
    ['an empty name and an empty tag', `02${HEAD}0000`, { name: '', tag: '' }],
  ])('of fixed bytes: %s', (_what, hex, plant) => {
    expect(decode(hex)).toEqual({ id: ID, eventId: EVENT_ID, offset: OFFSET, plant })
    expect(encodeEntry({ id: ID, eventId: EVENT_ID, offset: OFFSET, plant }).toString('hex')).toBe(hex)
  })
})

describe('bytes that are not an entry of this release', () => {
  it.each([
    ['nothing', ''],
    ['a form that a newer release may know', `04${HEAD}`],
    ['a head that is cut', `01${HEAD.slice(2)}`],
    ['an unreadable claim with a text', `00${HEAD}41`],
    ['a name that is no UTF-8', `01${HEAD}ff`],
    ['no length of the name before the tag', `02${HEAD}`],
    ['half a length of the name', `02${HEAD}00`],
    ['a name longer than the entry', `02${HEAD}000341`],
    ['a character that is cut in two by the length', `02${HEAD}0001c398`],
  ])('are an EntryError: %s', (_what, hex) => {
    expect(() => decode(hex)).toThrow(EntryError)
  })
})
