import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import { emptyPartition, emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'

const spanSizes = fc.constantFrom(1, 2, 4, 512)

describe('the plants of a fold', () => {
  it('equal those of a fold into a Map', () => {
    fc.assert(
      fc.property(logs, spanSizes, fc.nat(), (batches, plantsPerSpan, seed) => {
        const records = batches.flatMap((batch) => batch.records)
        const wanted = fold(emptyPartition(), records)
        const folded = fold(emptyPartitionOf(createPackedClaims({ plantsPerSpan, seed })), records)
        expect([...folded.plants]).toEqual([...wanted.plants])
        expect(folded.plants.size).toBe(wanted.plants.size)
        expect({ ...folded, plants: undefined }).toEqual({ ...wanted, plants: undefined })
        for (const record of records) {
          const id = record.claim?.id
          if (id !== undefined) expect(folded.plants.get(id)).toEqual(wanted.plants.get(id))
        }
      }),
    )
  })

  it('are packed as they are stored, up to any of them', () => {
    fc.assert(
      fc.property(logs, spanSizes, fc.nat(40), (batches, plantsPerSpan, last) => {
        const records = batches.flatMap((batch) => batch.records)
        const { plants } = fold(emptyPartitionOf(createPackedClaims({ plantsPerSpan })), records)
        const end = Math.min(last, plants.size)
        const wanted = [...plants].slice(0, end).map(([, claim]) => claim)
        for (let from = 0; from < plants.size; from += plantsPerSpan) {
          const claims = wanted.slice(from, from + plantsPerSpan)
          const entries = claims.map(encodeEntry)
          expect(plants.span(from, end)).toEqual({
            ids: Buffer.from(claims.map(({ id }) => id).join(',')),
            lengths: Buffer.from(entries.flatMap(({ length }) => [Math.floor(length / 256), length % 256])),
            entries: Buffer.concat(entries),
          })
        }
      }),
    )
  })
})
