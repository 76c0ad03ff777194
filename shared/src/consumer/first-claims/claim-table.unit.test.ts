import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventIds, plantIds } from '../../../../tests/support/generated-plants.ts'
import type { EventId } from '../../plant/event-id.ts'
import type { PlantId } from '../../plant/plant.ts'
import { offsetOf } from '../../plant/position.ts'
import { PreconditionError } from '../../runtime/failures.ts'
import { createClaimTable, memoryOf } from './claim-table.ts'

const NIL = '00000000-0000-4000-8000-000000000000' as EventId
const roomy = () => memoryOf(64, 'raise it')

/** Ids that differ in one half only, and any others. */
const ids = fc.oneof(
  plantIds,
  fc.nat(5).map((n) => BigInt(n) as PlantId),
  fc.nat(5).map((n) => (BigInt(n) << 32n) as PlantId),
)

describe('a table of first claims', () => {
  it('agrees with a Map on each id', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(ids, eventIds), { maxLength: 60 }), fc.boolean(), (claims, keeps) => {
        const table = createClaimTable({ reserve: roomy(), eventIds: keeps })
        const model = new Map<PlantId, { offset: number; eventId: EventId }>()
        for (const [index, [id, eventId]] of claims.entries()) {
          const offset = offsetOf(2 ** 47 + index)
          expect(table.offsetOf(id)).toBe(model.get(id)?.offset)
          if (!model.has(id)) model.set(id, { offset, eventId })
          expect(table.add({ id, offset, eventId })).toBe(model.get(id)?.offset)
        }
        for (const [id, { offset, eventId }] of model) {
          expect(table.offsetOf(id)).toBe(offset)
          expect(table.eventIdOf(id)).toBe(keeps ? eventId : undefined)
        }
      }),
    )
  })

  it.each([
    ['in sequence', (n: number) => BigInt(n)],
    ['in sequence from a place that doubles skip', (n: number) => 2n ** 62n + BigInt(n)],
    ['that differ in their high half only', (n: number) => BigInt(n) << 32n],
    ['at random', (n: number) => BigInt.asIntN(64, BigInt(n) * 0x9e37_79b9_7f4a_7c15n)],
  ])('keeps a hundred thousand ids %s, over many chunks, in at most 30 bytes each', (_, idOf) => {
    let reserved = 0
    function reserve(bytes: number): void {
      reserved += bytes
    }
    const table = createClaimTable({ reserve, eventIds: false })
    const count = 100_000
    for (let n = 0; n < count; n++) table.add({ id: idOf(n) as PlantId, offset: offsetOf(n * 3), eventId: NIL })
    for (let n = 0; n < count; n++) {
      const id = idOf(n) as PlantId
      if (table.add({ id, offset: offsetOf(2 ** 40), eventId: NIL }) !== n * 3) throw new Error(`id ${n} was lost`)
    }
    expect(reserved / count).toBeLessThan(30)
  })

  it('throws at its memory limit with advice, and keeps its claims', () => {
    const table = createClaimTable({ reserve: memoryOf(1, 'take a file'), eventIds: true })
    let kept = 0
    const fill = () => {
      for (; ; kept++) table.add({ id: BigInt(kept) as PlantId, offset: offsetOf(kept), eventId: NIL })
    }
    expect(fill).toThrow(PreconditionError)
    expect(fill).toThrow('more memory than 1 MiB: take a file')
    expect(kept).toBeGreaterThan(10_000)
    for (let n = 0; n < kept; n++) expect(table.offsetOf(BigInt(n) as PlantId)).toBe(n)
    expect(table.offsetOf(BigInt(kept) as PlantId)).toBeUndefined()
  })
})
