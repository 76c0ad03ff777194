import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventIds, NAME_AND_TAG } from '../../../tests/support/generated-plants.ts'
import { keyedEventIdWith, parseEventId, readEventId } from './event-id.ts'
import type { PlantId } from './plant.ts'

const created = (caller: string, key: string, id: bigint, name: string, tag?: string) =>
  keyedEventIdWith(NAME_AND_TAG)(caller, key, { id: id as PlantId, name, ...(tag !== undefined && { tag }) })

describe('an event id', () => {
  it.each(['', '6F0C2A5E-1D2B-4C0F-9A7B-3E8D54C1F6A2', '6f0c2a5e-1d2b-4c0f-9a7b-3e8d54c1f6a2\n'])(
    'is not %j, because equal ids must be equal texts',
    (text) => {
      expect(parseEventId(text)).toBeUndefined()
    },
  )

  it('is its text alone, whichever byte is another', () => {
    const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
    const others = fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('09afgAF-/:`')))
    fc.assert(
      fc.property(eventIds, fc.nat(35), others, (id, at, byte) => {
        const bytes = Buffer.from(id)
        bytes[at] = byte
        const text = bytes.toString('latin1')
        expect(readEventId(bytes)).toBe(UUID.test(text) ? text : undefined)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('the event id of an Idempotency-Key', () => {
  it('never changes between releases: a retry after an update finds the event of its first try', () => {
    expect(created('tests', 'key-1', 9007199254740993n, 'Ficus', 'tree')).toBe('c5c1ed6c-6ec8-54d8-9898-0dfc64d71bf1')
    expect(created('tests', 'key-1', -1n, 'Øyelill 🌱')).toBe('84f1dc2c-31b8-5b00-960d-95d435416a49')
  })

  it.each([
    ['caller and key', created('ab', 'c', 1n, 'n'), created('a', 'bc', 1n, 'n')],
    ['key and id', created('ann', 'k1', 2n, 'n'), created('ann', 'k', 12n, 'n')],
    ['name and tag', created('ann', 'k', 1n, 'ab', 'c'), created('ann', 'k', 1n, 'a', 'bc')],
    ['a written length and a real one', created('a1:b', 'c', 1n, 'n'), created('a', 'b1:c', 1n, 'n')],
  ])('keeps the boundary between %s', (_parts, one, other) => {
    expect(one).not.toBe(other)
  })
})
