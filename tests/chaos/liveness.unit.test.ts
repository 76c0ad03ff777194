import { expect, it } from 'vitest'
import type { Request } from './history.ts'
import { CONTINUES_WITHIN_MS, type Effect, judgeLiveness, UNTIL_RECOVERED } from './liveness.ts'

const EVERY_MS = 200
/** The fault is there from 10 s to 40 s, and all is ready at 41 s. */
const TIMES = { number: 3, startedAt: 10_000, healedAt: 40_000, recoveredAt: 41_000 }
const UNKNOWN = { status: 503, error: 50302 }

const AWAY: Effect = { of: 'create', servers: ['kafka-1'], partitions: [0, 1], forMs: CONTINUES_WITHIN_MS }
const OTHER_AWAY: Effect = { ...AWAY, servers: [] }
const CUT: Effect = { ...AWAY, apis: ['api-1'], servers: ['kafka-2'], forMs: UNTIL_RECOVERED }
const NO_QUORUM: Effect = { of: 'create', servers: ['kafka-1', 'kafka-2'] }
const UNWRITABLE: Effect = { of: 'create', partitions: [2], forMs: UNTIL_RECOVERED }
const NO_API: Effect = { apis: ['api-2'], forMs: UNTIL_RECOVERED }

const GROUPS = (['create', 'read'] as const).flatMap((kind) =>
  [0, 1, 2].flatMap((partition) => ['api-1', 'api-2'].map((api) => ({ kind, partition, api }))),
)
type Only = Partial<(typeof GROUPS)[number]>
/** Requests that do not succeed from one second to another: all unless limited. */
type Stop = { from: number; until: number; only: Only; response?: object; afterMs?: number }
const stop = (from: number, until: number, only: Only = {}): Stop => ({ from, until, only })
const creates = (partition: number, api?: string): Only => ({ kind: 'create', partition, ...(api && { api }) })

/** Creates and reads of each partition at each api, all the time. */
function history(...stops: Stop[]): Request[] {
  const starts = Array.from({ length: 45_000 / EVERY_MS }, (_, n) => n * EVERY_MS)
  return starts.flatMap((startedAt) =>
    GROUPS.map((group): Request => {
      const stopped = stops.find(
        ({ from, until, only }) =>
          startedAt >= from * 1_000 &&
          startedAt < until * 1_000 &&
          expect.objectContaining(only).asymmetricMatch(group),
      )
      const endedAt = startedAt + (stopped === undefined ? 10 : (stopped.afterMs ?? 2_000))
      const response = stopped === undefined ? { status: 200 } : (stopped.response ?? UNKNOWN)
      return { id: 1, name: 'plant', ...group, startedAt, endedAt, ...response }
    }),
  )
}

const judged = (effects: readonly Effect[], requests: readonly Request[]) =>
  judgeLiveness([{ ...TIMES, faults: ['fault'], effects: effects.map((effect) => [effect]) }], requests).map((text) =>
    text.replace(/^experiment 3, fault: | after the start .*| \(.* in the history\)/g, ''),
  )
const nothing = (what: string, partition: number, api: string, from: number, until: number) =>
  `no ${what} of partition ${partition} at ${api} succeeded from ${from}.0 s to ${until}.0 s`

it.each<[what: string, effects: Effect[], stops: Stop[]]>([
  ['a pause of 2 s', [], [{ ...stop(12, 14), afterMs: 10 }]],
  ['partitions that continue within 10 s', [AWAY], [stop(10, 19, creates(0)), stop(10, 19, creates(1))]],
  ['creates without a quorum', [NO_QUORUM], [stop(10, 40, { kind: 'create' })]],
  ['an api that is away', [NO_API], [stop(10, 40, { api: 'api-2' })]],
  ['a partition that cannot be written', [UNWRITABLE], [stop(10, 40, creates(2))]],
  ['creates of an api whose link to the leader is cut', [CUT], [stop(10, 40, creates(1, 'api-1'))]],
  ['shorter gaps than what is slow may have', [{ gapMs: 5_000 }], [stop(20, 24), stop(30, 34)]],
  ['two effects that add up', [AWAY, OTHER_AWAY], [stop(10, 29, creates(0))]],
  ['two faults that leave no majority', [AWAY, CUT], [stop(10, 40, { kind: 'create', api: 'api-1' })]],
  ['duplicates', [], [{ ...stop(10, 40, { kind: 'create' }), response: { status: 400, error: 40003 } }]],
  ['absences', [], [{ ...stop(10, 40, { kind: 'read' }), response: { status: 404, error: 40401 } }]],
  ['what begins before the fault', [], [stop(7, 12)]],
  ['what lasts longer than the recovery', [], [stop(39, 45)]],
])('is no violation: %s', (_what, effects, stops) => {
  expect(judged(effects, history(...stops))).toEqual([])
})

const HANGING = { afterMs: 20_000, response: {} }
it.each<[what: string, effects: Effect[], stops: Stop[], violation: string]>([
  ['a partition that stands still', [], [stop(15, 25, creates(2))], nothing('create', 2, 'api-1', 5, 15)],
  ['failing at once', [], [{ ...stop(15, 25, creates(2)), afterMs: 1 }], nothing('create', 2, 'api-1', 5, 15)],
  ['no response', [], [{ ...stop(15, 25, creates(2)), ...HANGING }], nothing('create', 2, 'api-1', 5, 15)],
  ['affected, and not continuing', [AWAY], [stop(9, 21, creates(0))], nothing('create', 0, 'api-1', 0, 11)],
  ['another partition', [AWAY], [stop(10, 15, creates(2))], nothing('create', 2, 'api-1', 0, 5)],
  ['partitions that stop again', [AWAY], [stop(21, 26, creates(0))], nothing('create', 0, 'api-1', 11, 16)],
  ['longer gaps than allowed', [{ gapMs: 5_000 }], [stop(20, 26, creates(1))], nothing('create', 1, 'api-1', 10, 16)],
  [
    'reads while only creates may stop, the longest of both apis',
    [NO_QUORUM],
    [
      stop(15, 20, { kind: 'read', partition: 1, api: 'api-1' }),
      stop(15, 30, { kind: 'read', partition: 1, api: 'api-2' }),
    ],
    nothing('read', 1, 'api-2', 5, 20),
  ],
  ['the other api', [NO_API], [stop(10, 40, creates(2))], nothing('create', 2, 'api-1', 0, 30)],
  ['more than two effects', [AWAY, OTHER_AWAY], [stop(10, 31, creates(0))], nothing('create', 0, 'api-1', 0, 21)],
])('is a violation: %s', (_what, effects, stops, violation) => {
  expect(judged(effects, history(...stops))).toEqual([violation])
})

it('takes requests in flight, and nobody else, for clients that ask', () => {
  const hanging = { ...stop(15, 15.2, creates(0, 'api-1')), ...HANGING }
  const last = history(hanging).filter(({ startedAt }) => startedAt <= 15_000)
  expect(judged([], last)).toEqual([nothing('create', 0, 'api-1', 5, 25)])
  const failedOnce = history({ ...stop(14.8, 15), afterMs: 1 })
  expect(
    judged(
      [],
      failedOnce.filter(({ startedAt }) => startedAt < 15_000 || startedAt >= 35_000),
    ),
  ).toEqual([])
})

it('judges reads of plants that were shown before the fault, and no others', () => {
  const stopped = history(stop(10, 40, { kind: 'read', partition: 0 }))
  expect(judged([], stopped)).toEqual([nothing('read', 0, 'api-1', 0, 30)])
  const ofOthers = stopped.map((request) => (request.startedAt < 10_000 ? request : { ...request, id: 2 }))
  expect(judged([], ofOthers as Request[])).toEqual([])
})
