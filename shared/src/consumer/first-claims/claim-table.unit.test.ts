import { describe, expect, it } from 'vitest'
import type { EventId } from '../../plant/event-id.ts'
import type { PlantId } from '../../plant/plant.ts'
import { offsetOf } from '../../plant/position.ts'
import { PreconditionError } from '../../runtime/failures.ts'
import { createClaimTable, memoryOf } from './claim-table.ts'

const NIL = '00000000-0000-4000-8000-000000000000' as EventId
describe('a table of first claims', () => {
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
    const claimOf = (n: number) => ({ id: idOf(n) as PlantId, offset: offsetOf(2 ** 47 + n), eventId: NIL })
    for (let n = 0; n < count; n++) table.add(claimOf(n))
    for (let n = 0; n < count; n++) {
      const first = table.add({ ...claimOf(n), offset: offsetOf(2 ** 48 - 1) })
      if (first !== claimOf(n).offset) throw new Error(`id ${n} was lost`)
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
