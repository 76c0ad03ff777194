import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { EventId } from '../plant/event-id.ts'
import type { PlantId } from '../plant/plant.ts'
import type { Claim } from '../plant/plant-created.ts'
import type { Offset } from '../plant/position.ts'
import { createWindow } from './window.ts'

/** The size of a claim without texts. */
const CLAIM_BYTES = 126
const EVENT_ID = '00000000-0000-4000-8000-000000000000' as EventId

function claimAt(offset: number, id: number): Claim {
  return { offset: offset as Offset, id: BigInt(id) as PlantId, eventId: EVENT_ID, plant: undefined }
}

/** A window of so many claims, as a list. */
function modelOf(capacity: number) {
  const model = { claims: [] as Claim[], start: 0, next: 0 }
  return {
    model,

    pass(claim: Claim): void {
      model.next = claim.offset + 1
      if (model.claims.some(({ id }) => id === claim.id)) return
      model.claims.push(claim)
      if (model.claims.length > capacity) model.start = (model.claims.shift() as Claim).offset + 1
    },

    dropBefore(offset: number): void {
      model.start = Math.max(model.start, Math.min(offset, model.next))
      model.claims = model.claims.filter((claim) => claim.offset >= model.start)
    },
  }
}

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ claims: fc.nat(30), skip: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ dropBefore: fc.nat(80) }) },
  ),
  { maxLength: 80 },
)

it('a window has the first claims since its start, in log order, after any drops and repeated claims', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 20 }), fc.nat(8), (schedule, capacity, max) => {
      const window = createWindow(0 as Offset, capacity * CLAIM_BYTES)
      const { model, pass, dropBefore } = modelOf(capacity)
      for (const step of schedule) {
        if ('dropBefore' in step) {
          window.dropBefore(step.dropBefore as Offset)
          dropBefore(step.dropBefore)
        } else {
          const claim = claimAt(window.next + step.skip, step.claims)
          window.pass({ offset: claim.offset, claim })
          pass(claim)
        }
        const { claims, start, next } = model
        expect([window.start, window.next]).toEqual([start, next])
        expect(window.size).toEqual({ claims: claims.length, bytes: claims.length * CLAIM_BYTES })
        for (let id = 0n; id <= 30n; id++)
          expect(window.firstClaim(id as PlantId)).toEqual(claims.find((claim) => claim.id === id))
        for (const after of [-1, start - 1, start + 1, next - 2, next] as Offset[])
          expect(window.claimsAfter(after, max)).toEqual(claims.filter(({ offset }) => offset > after).slice(0, max))
      }
    }),
  )
})
