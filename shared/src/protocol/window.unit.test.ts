import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EventId } from '../plant/event-id.ts'
import type { Offset } from '../plant/offset.ts'
import type { Claim } from '../plant/plant-created.ts'
import type { PlantId } from '../plant/plant-id.ts'
import { createWindow } from './window.ts'

const CLAIM_BYTES = 320
const EVENT_ID = '00000000-0000-4000-8000-000000000000' as EventId

function claimAt(offset: number, id: number): Claim {
  return { offset: offset as Offset, id: BigInt(id) as PlantId, eventId: EVENT_ID, plant: { name: '' } }
}

describe('the claims of a window after an offset', () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.record({ claims: fc.nat(30), skip: fc.nat(2) }) },
      { weight: 1, arbitrary: fc.record({ dropBefore: fc.nat(80) }) },
    ),
    { maxLength: 80 },
  )

  it('are those that it holds after it, in log order, whatever was dropped and claimed again', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 20 }), fc.nat(8), (some, holds, max) => {
        const window = createWindow(0 as Offset, holds * CLAIM_BYTES)
        for (const step of some) {
          if ('dropBefore' in step) window.dropBefore(step.dropBefore as Offset)
          else {
            const offset = (window.next + step.skip) as Offset
            window.pass({ offset, claim: claimAt(offset, step.claims) })
          }
          const held = Array.from({ length: 31 }, (_, id) => window.firstClaim(BigInt(id) as PlantId))
            .filter((claim) => claim !== undefined)
            .sort((a, b) => a.offset - b.offset)
          for (const after of [
            -1,
            window.start - 1,
            window.start + 1,
            window.next - 2,
            window.next,
          ] as Offset[])
            expect(window.claimsAfter(after, max)).toEqual(
              held.filter(({ offset }) => offset > after).slice(0, max),
            )
        }
      }),
    )
  })

  it('are found without a look at all those before', () => {
    const count = 100_000
    let looked = 0
    const window = createWindow(0 as Offset, count * CLAIM_BYTES)
    for (let n = 0; n < count; n++) {
      const claim = claimAt(n, n)
      window.pass({ offset: claim.offset, claim })
      Object.defineProperty(claim, 'offset', {
        get() {
          looked++
          return n
        },
      })
    }
    expect(window.claimsAfter((count - 3) as Offset, 100).map(({ id }) => id)).toEqual([99_998n, 99_999n])
    expect(looked).toBeLessThan(100)
  })
})
