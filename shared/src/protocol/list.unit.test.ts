import fc from 'fast-check'
import { expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import type { PlantId } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import type { Offset } from '../plant/position.ts'
import { candidatesOf, knownSpan, type ListedSpan } from './list.ts'
import { createWindow } from './window.ts'

const RUNS = 5_000
const NO_LIMITS = { maxCandidates: 1_000, spareCandidates: 1_000 }

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

function known(instance: Instance, required: { token: Offset; readFloor: Offset }) {
  const listed = listedOf(instance)
  const candidates = candidatesOf(listed, instance, windowOf(instance), NO_LIMITS)
  const lookedUp = entriesAt(instance.log, instance.later, candidates.claims)
  return knownSpan(listed, instance, candidates, lookedUp, required)
}

/** The reach of the instance. */
function reachOf({ checkpoint, windowFrom, windowTo }: Instance): number {
  const end = Math.max(windowFrom, windowTo)
  return windowFrom > checkpoint + 1 ? checkpoint : Math.max(checkpoint, end - 1)
}

const ids = (claims: readonly Claim[]) => claims.map(({ id, offset }) => `${id} at ${offset}`)

// The simulation shows what is listed when Redis falls back, and of few candidates.
it('a known span equals that span of the fold up to the reach, however Redis and the window share it; its end also needs H', () => {
  // Mostly nothing more is required.
  const offsets = fc.oneof(fc.constant(-1), fc.integer({ min: -1, max: 69 })) as fc.Arbitrary<Offset>
  fc.assert(
    fc.property(instances, offsets, offsets, (drawn, token, readFloor) => {
      const instance = { ...drawn, later: Math.max(drawn.later, drawn.checkpoint) }
      const { from, count, windowFrom, checkpoint, log } = instance
      const reach = reachOf(instance)
      const firsts = firstsUpTo(log, reach)
      const span = known(instance, { token, readFloor })
      // A client with a later token has seen more than this instance knows.
      const isKnown = token <= reach
      expect(ids(span.claims)).toEqual(isKnown ? ids(firsts.slice(from, from + count)) : [])
      const isAtEnd = from <= firsts.length && firsts.length < from + count && windowFrom <= checkpoint + 1
      expect(span.isEnd).toBe(isKnown && isAtEnd && reach >= readFloor)
    }),
    { numRuns: RUNS },
  )
})
