import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EventId } from '../plant/event-id.ts'
import type { PlantId } from '../plant/plant.ts'
import type { Claim } from '../plant/plant-created.ts'
import type { Offset } from '../plant/position.ts'
import { createWindow } from './window.ts'

const CLAIM_BYTES = 320
const EVENT_ID = '00000000-0000-4000-8000-000000000000' as EventId

function claimAt(offset: number, id: number): Claim {
  return { offset: offset as Offset, id: BigInt(id) as PlantId, eventId: EVENT_ID, plant: { name: '' } }
}

describe('claimsAfter of a window', () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.record({ claims: fc.nat(30), skip: fc.nat(2) }) },
      { weight: 1, arbitrary: fc.record({ dropBefore: fc.nat(80) }) },
    ),
    { maxLength: 80 },
  )

  it('returns the claims of the window after the offset in log order, after any drops and repeated claims', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 20 }), fc.nat(8), (schedule, capacity, max) => {
        const window = createWindow(0 as Offset, capacity * CLAIM_BYTES)
        for (const step of schedule) {
          if ('dropBefore' in step) window.dropBefore(step.dropBefore as Offset)
          else {
            const offset = (window.next + step.skip) as Offset
            window.pass({ offset, claim: claimAt(offset, step.claims) })
          }
          const inWindow = Array.from({ length: 31 }, (_, id) => window.firstClaim(BigInt(id) as PlantId))
            .filter((claim) => claim !== undefined)
            .sort((a, b) => a.offset - b.offset)
          for (const after of [-1, window.start - 1, window.start + 1, window.next - 2, window.next] as Offset[])
            expect(window.claimsAfter(after, max)).toEqual(
              inWindow.filter(({ offset }) => offset > after).slice(0, max),
            )
        }
      }),
    )
  })

  it('does not scan the claims before the offset', () => {
    const count = 100_000
    let reads = 0
    const window = createWindow(0 as Offset, count * CLAIM_BYTES)
    for (let n = 0; n < count; n++) {
      const claim = claimAt(n, n)
      window.pass({ offset: claim.offset, claim })
      Object.defineProperty(claim, 'offset', {
        get() {
          reads++
          return n
        },
      })
    }
    expect(window.claimsAfter((count - 3) as Offset, 100).map(({ id }) => id)).toEqual([99_998n, 99_999n])
    expect(reads).toBeLessThan(100)
  })
})
