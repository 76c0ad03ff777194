import { randomBytes } from 'node:crypto'
import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { offsetOf } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import { plantWith } from '../../../tests/support/generated-plants.ts'

const spanSizes = fc.constantFrom(1, 2, 4, 512)
/** Enough for the hash table and the entry buffer to grow several times. */
const MANY = 20_000

const claimOf = (id: bigint, at: number): Claim => ({
  id: id as PlantId,
  offset: offsetOf(at),
  eventId: '00000000-0000-4000-8000-000000000000' as EventId,
  plant: plantWith({ name: 'x'.repeat(at % 300) }),
})

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

  it.each([
    ['in sequence', (n: number) => BigInt(n)],
    ['that differ only in their high half', (n: number) => BigInt(n) << 32n],
    ['from both ends of int64', (n: number) => (n % 2 === 0 ? 2n ** 63n - 1n - BigInt(n) : BigInt(n) - 2n ** 63n)],
    ['drawn at random', () => randomBytes(8).readBigInt64BE()],
  ])('are all found among many ids %s', (_what, idOf) => {
    const claims = Array.from({ length: MANY }, (_, at) => claimOf(idOf(at), at))
    const plants = createPackedClaims()
    for (const claim of claims) {
      expect(plants.get(claim.id)).toBeUndefined()
      plants.set(claim.id, claim)
    }
    expect([...plants].map(([, claim]) => claim)).toEqual(claims)
    for (const claim of claims) expect(plants.get(claim.id)).toEqual(claim)
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
