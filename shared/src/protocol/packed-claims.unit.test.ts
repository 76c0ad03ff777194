import { emptyPartition, emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'

const spanSizes = fc.constantFrom(1, 2, 4, 512)

it('the plants of a fold equal those of a fold into a Map', () => {
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
