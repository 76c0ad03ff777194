import { expect, it } from 'vitest'
import type { CreateRequest, ListRequest, ReadRequest, Request } from './history.ts'
import { type Evidence, judge, type LoggedClaim } from './judge.ts'

const NOT_WRITTEN = { status: 503, error: 50301 }
const UNKNOWN = { status: 503, error: 50302 }
const DUPLICATE = { status: 400, error: 40003 }
const DENIED = '404 for a plant that this api had shown or found in the log'
const OMITTED = 'a list omits a plant that its api had shown or found in the log'
/** Two ids of one partition. */
const [ID, OTHER_ID] = [1, 2]

const at = (startedAt: number, endedAt = startedAt + 1, api = 'api-1', since = 0) => ({
  startedAt,
  endedAt,
  api,
  since,
})
const claim = (offset: number, id: number, name: string): LoggedClaim => ({
  ...{ partition: 0, offset, id, name },
  eventId: `event of ${name}`,
})
const create = (id: number, name: string, more: Partial<CreateRequest>): CreateRequest => ({
  ...{ kind: 'create', id, partition: 0, name, keyed: false, ...at(1) },
  ...more,
})
const created = (id: number, name: string, position: string, more: Partial<CreateRequest> = {}) =>
  create(id, name, { status: 200, responseName: name, position, ...more })
const read = (id: number, more: Partial<ReadRequest>): ReadRequest => ({
  kind: 'read',
  id,
  partition: 0,
  ...at(10),
  ...more,
})
const list = (items: ListRequest['items'], more: Partial<ListRequest> = {}): ListRequest => ({
  ...{ kind: 'list', items, isComplete: true, ...at(10), ...more },
})

const [FIRST, SECOND, OTHER] = [
  { id: ID, name: 'first' },
  { id: ID, name: 'second' },
  { id: OTHER_ID, name: 'other' },
] as const

/** Two plants, a void claim and a create without outcome; `requests` are additional ones. */
function evidenceWith(requests: readonly Request[], more: Partial<Evidence> = {}): Evidence {
  const first = claim(0, ID, 'first')
  const log = [first, claim(1, ID, 'second'), claim(2, OTHER_ID, 'other')]
  const deliveries = [log[0], log[2]].map((each) => each as LoggedClaim)
  return {
    log,
    requests: [
      created(ID, 'first', '0-0'),
      create(ID, 'second', { ...DUPLICATE, ...at(2) }),
      create(OTHER_ID, 'other', { ...UNKNOWN, ...at(3) }),
      ...requests,
    ],
    deliveries: new Map([['consumer-by-memory', deliveries]]),
    ...more,
  }
}

it.each<[what: string, evidence: Evidence]>([
  ['the base of all others', evidenceWith([])],
  ['a plant read', evidenceWith([read(ID, { status: 200, responseName: 'first' })])],
  ['a plant not yet read by another api', evidenceWith([read(ID, { status: 404, ...at(10, 11, 'api-2') })])],
  [
    'a plant not yet read by an api that was started',
    evidenceWith([read(ID, { status: 404, ...at(10, 11, 'api-2', 2) })]),
  ],
  ['a read that overlaps the create', evidenceWith([read(ID, { status: 404, ...at(1.5, 11) })])],
  ['a position before the plant', evidenceWith([read(OTHER_ID, { status: 404, sent: '0-1', ...at(10) })])],
  ['a list', evidenceWith([list([FIRST, OTHER])])],
  ['a list that failed', evidenceWith([list([OTHER], { isComplete: false })])],
  ['a retried create', evidenceWith([create(OTHER_ID, 'other', NOT_WRITTEN), created(OTHER_ID, 'other', '0-2')])],
])('is no violation: %s', (_what, evidence) => {
  expect(judge(evidence)).toEqual([])
})

it.each<[rule: string, evidence: Evidence]>([
  ['200 for a plant that does not have its id', evidenceWith([created(ID, 'second', '0-1')])],
  ['200 for a plant that does not have its id', evidenceWith([created(77, 'lost', '0-9')])],
  ['a wrong position', evidenceWith([created(OTHER_ID, 'other', '0-1')])],
  [
    'the response to a create has another plant',
    evidenceWith([created(ID, 'first', '0-0', { responseName: 'second' })]),
  ],
  ['a duplicate of nothing', evidenceWith([create(78, 'nobody has it', DUPLICATE)])],
  ['a duplicate of nothing', evidenceWith([create(ID, 'first', DUPLICATE)])],
  ['a duplicate before the winner was sent', evidenceWith([create(OTHER_ID, 'early', { ...DUPLICATE, ...at(0, 2) })])],
  [
    'every response said that nothing was stored, but the log has it',
    evidenceWith([create(79, 'not written', NOT_WRITTEN)], {
      log: [...evidenceWith([]).log, claim(3, 79, 'not written')],
    }),
  ],
  [
    'the log has a plant that no client asked for',
    evidenceWith([], { log: [...evidenceWith([]).log, claim(3, 80, 'x')] }),
  ],
  [
    'one plant has two event ids',
    evidenceWith([], { log: [...evidenceWith([]).log, { ...claim(3, ID, 'first'), eventId: 'another' }] }),
  ],
  ['a read shows another plant than the log', evidenceWith([read(ID, { status: 200, responseName: 'second' })])],
  ['a read shows another plant than the log', evidenceWith([read(81, { status: 200, responseName: 'invented' })])],
  ['404 for a plant that the position covers', evidenceWith([read(OTHER_ID, { status: 404, sent: '0-2' })])],
  [DENIED, evidenceWith([read(ID, { status: 404 })])],
  [DENIED, evidenceWith([read(ID, { status: 404, ...at(10, 11, 'api-1', 9) })])],
  [DENIED, evidenceWith([read(ID, { status: 404, ...at(10, 11, 'api-2', 9) })])],
  ['a list has another plant than the log', evidenceWith([list([SECOND, OTHER])])],
  ['a list is not in log order', evidenceWith([list([OTHER, FIRST])])],
  ['a list has a plant twice', evidenceWith([list([FIRST, FIRST])])],
  ['a list has a plant twice', evidenceWith([list([FIRST, FIRST], { isComplete: false })])],
  [OMITTED, evidenceWith([list([OTHER])])],
  [OMITTED, evidenceWith([list([OTHER], at(10, 11, 'api-2', 9))])],
  [
    'consumer-by-memory was given a void claim',
    evidenceWith([], { deliveries: new Map([['consumer-by-memory', [...evidenceWith([]).log]]]) }),
  ],
  [
    'consumer-by-memory was not given a plant',
    evidenceWith([], { deliveries: new Map([['consumer-by-memory', evidenceWith([]).log.slice(0, 1)]]) }),
  ],
])('is a violation: %s', (rule, evidence) => {
  expect(judge(evidence).map((violation) => violation.split(': {')[0])).toContain(rule)
})
