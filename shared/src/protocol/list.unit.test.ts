import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import type { PlantId } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import { BEFORE_FIRST, type Offset } from '../plant/position.ts'
import { candidatesOf, type KnownSpan, knownSpan, type ListedSpan, type Span } from './list.ts'
import { createWindow } from './window.ts'

const RUNS = 5_000
const NO_LIMITS = { maxCandidates: 1_000, spareCandidates: 1_000 }
const NOTHING_REQUIRED = { token: BEFORE_FIRST, readFloor: BEFORE_FIRST }

/** A log and the state of an instance: the checkpoint of the read model, a later checkpoint, and a window. */
const instances = fc.record({
  log: logs.map((batches) => batches.flatMap(({ records }) => records)),
  checkpoint: fc.integer({ min: -1, max: 60 }),
  later: fc.integer({ min: -1, max: 60 }),
  windowFrom: fc.nat(60),
  windowTo: fc.nat(60),
  from: fc.nat(8),
  count: fc.integer({ min: 1, max: 8 }),
})
type Instance = (typeof instances extends fc.Arbitrary<infer T> ? T : never) & { log: LogRecord[] }

/** The first claim of each id up to an offset, in log order, computed independently of the product. */
function firstsUpTo(log: readonly LogRecord[], offset: number): Claim[] {
  const claims = log.flatMap(({ claim }) => (claim !== undefined && claim.offset <= offset ? [claim] : []))
  return claims.filter((claim, n) => claims.findIndex(({ id }) => id === claim.id) === n)
}

function windowOf({ log, windowFrom, windowTo }: Instance) {
  const window = createWindow(windowFrom as Offset, 1_000_000)
  for (const record of log) if (record.offset >= windowFrom && record.offset < windowTo) window.pass(record)
  window.passTo(windowTo as Offset)
  return window
}

function listedOf({ log, checkpoint, from, count }: Instance): ListedSpan {
  const firsts = firstsUpTo(log, checkpoint)
  return { claims: firsts.slice(from, from + count), plants: firsts.length, checkpoint: checkpoint as Offset }
}

function entriesAt(log: readonly LogRecord[], offset: number, candidates: readonly Claim[]) {
  const firsts = new Map<PlantId, Claim>(firstsUpTo(log, offset).map((claim) => [claim.id, claim]))
  return { entries: candidates.map(({ id }) => firsts.get(id)), checkpoint: offset as Offset }
}

function known(instance: Instance, limits = NO_LIMITS, required = NOTHING_REQUIRED): KnownSpan {
  const listed = listedOf(instance)
  const candidates = candidatesOf(listed, instance, windowOf(instance), limits)
  const lookedUp = entriesAt(instance.log, instance.later, candidates.claims)
  return knownSpan(listed, instance, candidates, lookedUp, required)
}

/** The reach of the instance. */
function reachOf({ checkpoint, windowFrom, windowTo }: Instance): number {
  const end = Math.max(windowFrom, windowTo)
  return windowFrom > checkpoint + 1 ? checkpoint : Math.max(checkpoint, end - 1)
}

const ids = ({ claims }: { claims: readonly Claim[] }) => claims.map(({ id, offset }) => `${id} at ${offset}`)

describe('knownSpan', () => {
  it('equals that span of the fold up to the reach, however Redis and the window share it', () => {
    fc.assert(
      fc.property(instances, (drawn) => {
        const instance = { ...drawn, later: Math.max(drawn.later, drawn.checkpoint) }
        const firsts = firstsUpTo(instance.log, reachOf(instance))
        expect(ids(known(instance))).toEqual(
          ids({ claims: firsts.slice(instance.from, instance.from + instance.count) }),
        )
      }),
      { numRuns: RUNS },
    )
  })

  it('is a beginning of that span of the log, also when Redis falls back and few candidates are read', () => {
    const limits = fc.record({ maxCandidates: fc.integer({ min: 1, max: 4 }), spareCandidates: fc.nat(2) })
    fc.assert(
      fc.property(instances, limits, (instance, few) => {
        const span = known(instance, few)
        const firsts = firstsUpTo(instance.log, Infinity)
        expect(ids(span)).toEqual(ids({ claims: firsts.slice(instance.from, instance.from + span.claims.length) }))
        expect(span.claims.length).toBeLessThanOrEqual(instance.count)
        const all = firstsUpTo(instance.log, reachOf(instance))
        if (span.isEnd) expect(instance.from + span.claims.length).toBe(all.length)
      }),
      { numRuns: RUNS },
    )
  })

  it('ends the list when the span is not full, begins within the known plants, has no gap and reaches H', () => {
    fc.assert(
      fc.property(instances, fc.integer({ min: -1, max: 60 }), (drawn, readFloor) => {
        const instance = { ...drawn, later: Math.max(drawn.later, drawn.checkpoint) }
        const count = firstsUpTo(instance.log, reachOf(instance)).length
        const hasGap = instance.windowFrom > instance.checkpoint + 1
        const { isEnd } = known(instance, NO_LIMITS, { ...NOTHING_REQUIRED, readFloor: readFloor as Offset })
        expect(isEnd).toBe(
          !hasGap && instance.from <= count && instance.from + instance.count > count && reachOf(instance) >= readFloor,
        )
      }),
      { numRuns: RUNS },
    )
  })

  it('is empty for a client whose token is beyond the reach', () => {
    fc.assert(
      fc.property(instances, fc.integer({ min: 1, max: 9 }), (instance, ahead) => {
        const token = (reachOf(instance) + ahead) as Offset
        expect(known(instance, NO_LIMITS, { ...NOTHING_REQUIRED, token })).toEqual({
          claims: [],
          isEnd: false,
        })
      }),
      { numRuns: RUNS },
    )
  })

  it('has at most maxCandidates candidates, and none for a span that Redis fills', () => {
    const limits = fc.record({ maxCandidates: fc.integer({ min: 1, max: 4 }), spareCandidates: fc.nat(2) })
    fc.assert(
      fc.property(instances, limits, (instance, few) => {
        const listed = listedOf(instance)
        const { claims } = candidatesOf(listed, instance as Span, windowOf(instance), few)
        expect(claims.length).toBeLessThanOrEqual(few.maxCandidates)
        if (listed.claims.length === instance.count) expect(claims).toEqual([])
      }),
      { numRuns: RUNS },
    )
  })
})
