import { expect, it } from 'vitest'
import { type CreateRequest, largeName, type Request } from './history.ts'
import { CONTINUES_WITHIN_MS, type Effect, judgeLiveness, UNTIL_RECOVERED } from './liveness.ts'

const EVERY_MS = 200
const PARTITIONS = [0, 1, 2]
const APIS = ['api-1', 'api-2']
/** The fault is there from 10 s to 40 s, and all is ready at 41 s. */
const TIMES = { number: 3, startedAt: 10_000, healedAt: 40_000, recoveredAt: 41_000 }
const UNKNOWN = { status: 503, error: 50302 }

const AWAY: Effect = { of: 'create', servers: ['kafka-1'], partitions: [0, 1], forMs: CONTINUES_WITHIN_MS }
const OTHER_AWAY: Effect = { ...AWAY, servers: [] }
const CUT: Effect = { ...AWAY, apis: ['api-1'], servers: ['kafka-2'], forMs: UNTIL_RECOVERED }
const NO_QUORUM: Effect = { of: 'create', servers: ['kafka-1', 'kafka-2'] }
const UNWRITABLE: Effect = { of: 'create', partitions: [2], forMs: UNTIL_RECOVERED }
const NO_API: Effect = { apis: ['api-2'], forMs: UNTIL_RECOVERED }

/** Requests that do not succeed from one second to another: all unless limited. */
type Stop = {
  from: number
  until: number
  only?: { kind?: string; api?: string; partition?: number }
  response?: { status?: number; error?: number }
  afterMs?: number
}
const stop = (from: number, until: number, kind?: string, partition?: number, api?: string): Stop => ({
  ...{ from, until },
  only: { ...(kind && { kind }), ...(partition !== undefined && { partition }), ...(api && { api }) },
})

/** Creates and reads of each partition at each api, all the time. */
function history(...stops: Stop[]): Request[] {
  const kinds = ['create', 'read'] as const
  const groups = kinds.flatMap((kind) =>
    PARTITIONS.flatMap((partition) => APIS.map((api) => ({ kind, partition, api }))),
  )
  return Array.from({ length: 45_000 / EVERY_MS }, (_, n) => n * EVERY_MS).flatMap((startedAt) =>
    groups.map((group) => {
      const stopped = stops.find(
        ({ from, until, only }) =>
          startedAt >= from * 1_000 &&
          startedAt < until * 1_000 &&
          expect.objectContaining(only ?? {}).asymmetricMatch(group),
      )
      const endedAt = startedAt + (stopped === undefined ? 10 : (stopped.afterMs ?? 2_000))
      const response = stopped === undefined ? { status: 200 } : (stopped.response ?? UNKNOWN)
      return { id: 1, name: 'plant', keyed: false, ...group, startedAt, endedAt, ...response }
    }),
  )
}

const judged = (effects: readonly Effect[], requests: readonly Request[]) => {
  const faults = effects.map((_, n) => `fault ${n}`)
  const violations = judgeLiveness([{ ...TIMES, faults, effects: effects.map((effect) => [effect]) }], requests)
  return violations.map((violation) => violation.replace(`experiment 3, ${faults.join(' + ')}: `, ''))
}
const nothing = (what: string, partition: number, api: string, from: number, until: number) =>
  `no ${what} of partition ${partition} at ${api} succeeded from ${from}.0 s to ${until}.0 s after the start (${10_000 + 1_000 * from} in the history)`

it.each<[what: string, effects: Effect[], stops: Stop[]]>([
  ['no fault', [], []],
  ['a pause of 2 s', [], [{ ...stop(12, 14), afterMs: 10 }]],
  ['partitions that continue within 10 s', [AWAY], [stop(10, 19, 'create', 0), stop(10, 19, 'create', 1)]],
  ['creates without a quorum', [NO_QUORUM], [stop(10, 40, 'create')]],
  ['an api that is away', [NO_API], [stop(10, 40, undefined, undefined, 'api-2')]],
  ['a partition that cannot be written', [UNWRITABLE], [stop(10, 40, 'create', 2)]],
  ['creates of an api whose link to the leader is cut', [CUT], [stop(10, 40, 'create', 1, 'api-1')]],
  ['shorter gaps than what is slow may have', [{ gapMs: 5_000 }], [stop(20, 24), stop(30, 34)]],
  ['two effects that add up', [AWAY, OTHER_AWAY], [stop(10, 29, 'create', 0)]],
  ['two faults that leave no majority', [AWAY, CUT], [stop(10, 40, 'create', undefined, 'api-1')]],
  ['duplicates', [], [{ ...stop(10, 40, 'create'), response: { status: 400, error: 40003 } }]],
  ['absences', [], [{ ...stop(10, 40, 'read'), response: { status: 404, error: 40401 } }]],
  ['what begins before the fault', [], [stop(7, 12)]],
  ['what lasts longer than the recovery', [], [stop(39, 45)]],
])('is no violation: %s', (_what, effects, stops) => {
  expect(judged(effects, history(...stops))).toEqual([])
})

it.each<[what: string, effects: Effect[], stops: Stop[], violations: string[]]>([
  ['a partition that stands still', [], [stop(15, 25, 'create', 2)], [nothing('create', 2, 'api-1', 5, 15)]],
  [
    'requests that fail at once',
    [],
    [{ ...stop(15, 25, 'create', 2, 'api-2'), afterMs: 1 }],
    [nothing('create', 2, 'api-2', 5, 15)],
  ],
  [
    'requests that get no response',
    [],
    [{ ...stop(15, 25, 'create', 2), afterMs: 20_000, response: {} }],
    [nothing('create', 2, 'api-1', 5, 15)],
  ],
  [
    'affected partitions that do not continue, and another one',
    [AWAY],
    [stop(9, 21, 'create', 0), stop(10, 15, 'create', 2)],
    [nothing('create', 0, 'api-1', 0, 11), nothing('create', 2, 'api-1', 0, 5)],
  ],
  ['affected partitions that stop again', [AWAY], [stop(21, 26, 'create', 0)], [nothing('create', 0, 'api-1', 11, 16)]],
  ['longer gaps than allowed', [{ gapMs: 5_000 }], [stop(20, 26, 'read', 1)], [nothing('read', 1, 'api-1', 10, 16)]],
  [
    'reads while only creates may stop, the longest of both apis',
    [NO_QUORUM],
    [stop(15, 20, 'read', 1, 'api-1'), stop(15, 30, 'read', 1, 'api-2')],
    [nothing('read', 1, 'api-2', 5, 20)],
  ],
  ['the other api', [NO_API], [stop(10, 40, 'create', 2)], [nothing('create', 2, 'api-1', 0, 30)]],
  ['more than two effects', [AWAY, OTHER_AWAY], [stop(10, 31, 'create', 0)], [nothing('create', 0, 'api-1', 0, 21)]],
])('is a violation: %s', (_what, effects, stops, violations) => {
  expect(judged(effects, history(...stops))).toEqual(violations)
})

it('takes requests in flight for clients that ask', () => {
  const hanging = { ...stop(15, 15.2, 'create', 0, 'api-1'), afterMs: 15_000, response: {} }
  const last = history(hanging).filter(({ startedAt }) => startedAt <= 15_200)
  expect(judged([], last)).toEqual([
    'no create of partition 0 at api-1 succeeded from 5.2 s to 20.0 s after the start (15210 in the history)',
  ])
})

it('judges no time in which no client asks', () => {
  const failedOnce = history({ ...stop(14.8, 15), afterMs: 1 })
  expect(
    judged(
      [],
      failedOnce.filter(({ startedAt }) => startedAt < 15_000 || startedAt >= 35_000),
    ),
  ).toEqual([])
})

it('judges reads of plants that were shown before the fault, and no others', () => {
  const stopped = history(stop(10, 40, 'read', 0))
  expect(judged([], stopped)).toEqual([nothing('read', 0, 'api-1', 0, 30)])
  expect(
    judged(
      [],
      stopped.map((request) => (request.startedAt < 10_000 ? request : { ...request, id: 2 })),
    ),
  ).toEqual([])
})

it.each([
  ['50301', { status: 503, error: 50301 }, []],
  ['200', { status: 200 }, []],
  ['40003', { status: 400, error: 40003 }, []],
  ['50302', UNKNOWN, ['a refused create of partition 1 got 50302 instead of 50301 (20000 in the history)']],
  ['nothing', {}, ['a refused create of partition 1 got no response instead of 50301 (20000 in the history)']],
])('compares what a refused create gets with what it has to be: %s', (_what, response, violations) => {
  const times = { api: 'api-1', startedAt: 20_000, endedAt: 21_000 }
  const create = { kind: 'create', id: 2, partition: 1, name: largeName('plant'), keyed: false } as const
  const requests: Request[] = [...history(), { ...create, ...times, ...response } satisfies CreateRequest]
  expect(judged([{ of: 'large create' }], requests)).toEqual(violations)
  expect(judged([{ of: 'large create' }, { apis: ['api-1'], forMs: UNTIL_RECOVERED }], requests)).toEqual([])
  expect(judged([], requests)).toEqual([])
})
