import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import { BEFORE_FIRST, type Offset } from '../plant/offset.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import type { PlantId } from '../plant/plant-id.ts'
import { beyond, type KnownSpan, knownSpan, type ListedSpan, type Span } from './list.ts'
import { createWindow } from './window.ts'

const RUNS = 5_000
const NO_LIMITS = { maxBeyond: 1_000, spareCandidates: 1_000 }
const ANYTHING = { position: BEFORE_FIRST, readFloor: BEFORE_FIRST }

/** A log and what an instance may know of it: the read model up to one offset, later up to another, and a window. */
const views = fc.record({
  log: logs.map((batches) => batches.flatMap(({ records }) => records)),
  checkpoint: fc.integer({ min: -1, max: 60 }),
  later: fc.integer({ min: -1, max: 60 }),
  windowFrom: fc.nat(60),
  windowTo: fc.nat(60),
  from: fc.nat(8),
  count: fc.integer({ min: 1, max: 8 }),
})
type ClaimIndex = (typeof views extends fc.Arbitrary<infer T> ? T : never) & { log: LogRecord[] }

/** The first claim of each id up to an offset, in log order: what is true, by another way than the product's. */
function firstsUpTo(log: readonly LogRecord[], offset: number): Claim[] {
  const claims = log.flatMap(({ claim }) => (claim !== undefined && claim.offset <= offset ? [claim] : []))
  return claims.filter((claim, n) => claims.findIndex(({ id }) => id === claim.id) === n)
}

function windowOf({ log, windowFrom, windowTo }: ClaimIndex) {
  const window = createWindow(windowFrom as Offset, 1_000_000)
  for (const record of log) if (record.offset >= windowFrom && record.offset < windowTo) window.pass(record)
  window.passTo(windowTo as Offset)
  return window
}

function listedOf({ log, checkpoint, from, count }: ClaimIndex): ListedSpan {
  const firsts = firstsUpTo(log, checkpoint)
  return { claims: firsts.slice(from, from + count), plants: firsts.length, checkpoint: checkpoint as Offset }
}

function entriesAt(log: readonly LogRecord[], offset: number, candidates: readonly Claim[]) {
  const firsts = new Map<PlantId, Claim>(firstsUpTo(log, offset).map((claim) => [claim.id, claim]))
  return { entries: candidates.map(({ id }) => firsts.get(id)), checkpoint: offset as Offset }
}

function tell(view: ClaimIndex, limits = NO_LIMITS, toReach = ANYTHING): KnownSpan {
  const listed = listedOf(view)
  const further = beyond(listed, view, windowOf(view), limits)
  return knownSpan(listed, view, further, entriesAt(view.log, view.later, further.candidates), toReach)
}

/** How far the view knows everything. */
function reachOf({ checkpoint, windowFrom, windowTo }: ClaimIndex): number {
  const end = Math.max(windowFrom, windowTo)
  return windowFrom > checkpoint + 1 ? checkpoint : Math.max(checkpoint, end - 1)
}

const ids = ({ claims }: { claims: readonly Claim[] }) => claims.map(({ id, offset }) => `${id} at ${offset}`)

describe('a span of a list', () => {
  it('is the span of the fold of all that the view reaches, whatever Redis and the window have of it', () => {
    fc.assert(
      fc.property(views, (some) => {
        const view = { ...some, later: Math.max(some.later, some.checkpoint) }
        const firsts = firstsUpTo(view.log, reachOf(view))
        expect(ids(tell(view))).toEqual(ids({ claims: firsts.slice(view.from, view.from + view.count) }))
      }),
      { numRuns: RUNS },
    )
  })

  it('is the beginning of what the log has there, also when Redis falls back and little is looked at', () => {
    const limits = fc.record({ maxBeyond: fc.integer({ min: 1, max: 4 }), spareCandidates: fc.nat(2) })
    fc.assert(
      fc.property(views, limits, (view, few) => {
        const told = tell(view, few)
        const firsts = firstsUpTo(view.log, Infinity)
        expect(ids(told)).toEqual(ids({ claims: firsts.slice(view.from, view.from + told.claims.length) }))
        expect(told.claims.length).toBeLessThanOrEqual(view.count)
        const all = firstsUpTo(view.log, reachOf(view))
        if (told.isEnd) expect(view.from + told.claims.length).toBe(all.length)
      }),
      { numRuns: RUNS },
    )
  })

  it('is the end when it is not full, the view has no gap and reaches H, and it lies within what is known', () => {
    fc.assert(
      fc.property(views, fc.integer({ min: -1, max: 60 }), (some, readFloor) => {
        const view = { ...some, later: Math.max(some.later, some.checkpoint) }
        const known = firstsUpTo(view.log, reachOf(view)).length
        const hasGap = view.windowFrom > view.checkpoint + 1
        const { isEnd } = tell(view, NO_LIMITS, { ...ANYTHING, readFloor: readFloor as Offset })
        expect(isEnd).toBe(
          !hasGap && view.from <= known && view.from + view.count > known && reachOf(view) >= readFloor,
        )
      }),
      { numRuns: RUNS },
    )
  })

  it('tells nothing to a client whose position the view does not reach', () => {
    fc.assert(
      fc.property(views, fc.integer({ min: 1, max: 9 }), (view, ahead) => {
        const position = (reachOf(view) + ahead) as Offset
        expect(tell(view, NO_LIMITS, { ...ANYTHING, position })).toEqual({ claims: [], isEnd: false })
      }),
      { numRuns: RUNS },
    )
  })

  it('takes no more candidates from the window than it may, nor for a span that Redis fills', () => {
    const limits = fc.record({ maxBeyond: fc.integer({ min: 1, max: 4 }), spareCandidates: fc.nat(2) })
    fc.assert(
      fc.property(views, limits, (view, few) => {
        const listed = listedOf(view)
        const { candidates } = beyond(listed, view as Span, windowOf(view), few)
        expect(candidates.length).toBeLessThanOrEqual(few.maxBeyond)
        if (listed.claims.length === view.count) expect(candidates).toEqual([])
      }),
      { numRuns: RUNS },
    )
  })
})
