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
const [FIRST, SECOND, OTHER] = [
  { id: ID, name: 'first' },
  { id: ID, name: 'second' },
  { id: OTHER_ID, name: 'other' },
]

/** A request for a second, to a process that was started at `since`. */
const at = (startedAt: number, api = 'api-1', since = 0) => ({ startedAt, endedAt: startedAt + 1, api, since })
const claim = (offset: number, id: number, name: string): LoggedClaim => ({
  ...{ partition: 0, offset, id, name },
  eventId: `event of ${name}`,
})
const create = (id: number, name: string, more: Partial<CreateRequest>): CreateRequest => ({
  ...{ kind: 'create', id, partition: 0, name, ...at(1), ...more },
})
const created = (id: number, name: string, position: string, more: Partial<CreateRequest> = {}) =>
  create(id, name, { status: 200, responseName: name, position, ...more })
const read = (id: number, more: Partial<ReadRequest>): ReadRequest => ({
  ...{ kind: 'read', id, partition: 0, ...at(10), ...more },
})
const list = (items: ListRequest['items'], more: Partial<ListRequest> = {}): ListRequest => ({
  ...{ kind: 'list', items, isComplete: true, ...at(10), ...more },
})

const LOG = [claim(0, ID, 'first'), claim(1, ID, 'second'), claim(2, OTHER_ID, 'other')] as const
const consumed = (...claims: LoggedClaim[]) => ({ deliveries: new Map([['consumer', claims]]) })

/** Two plants, a void claim and a create without outcome; `requests` are additional ones. */
const judged = (requests: readonly Request[], more: Partial<Evidence> = {}) =>
  judge({
    log: LOG,
    requests: [
      created(ID, 'first', '0-0'),
      create(ID, 'second', { ...DUPLICATE, ...at(2) }),
      create(OTHER_ID, 'other', { ...UNKNOWN, ...at(3) }),
      ...requests,
    ],
    ...consumed(LOG[0], LOG[2]),
    ...more,
  })

it.each<[what: string, requests: Request[]]>([
  ['the base of all others', []],
  ['a plant read', [read(ID, { status: 200, responseName: 'first' })]],
  ['a plant not yet read by another api', [read(ID, { status: 404, ...at(10, 'api-2') })]],
  ['a plant not yet read by an api that was started', [read(ID, { status: 404, ...at(10, 'api-2', 2) })]],
  ['a read that overlaps the create', [read(ID, { status: 404, ...at(1.5) })]],
  ['a position before the plant', [read(OTHER_ID, { status: 404, sent: '0-1' })]],
  ['a list', [list([FIRST, OTHER])]],
  ['a list that failed', [list([OTHER], { isComplete: false })]],
  ['a retried create', [create(OTHER_ID, 'other', NOT_WRITTEN), created(OTHER_ID, 'other', '0-2')]],
])('is no violation: %s', (_what, requests) => {
  expect(judged(requests)).toEqual([])
})

it.each<[what: string, requests: Request[], more?: Partial<Evidence>]>([
  ['200 for a plant that does not have its id', [created(ID, 'second', '0-1')]],
  ['200 for a plant that does not have its id', [created(77, 'lost', '0-9')]],
  ['a wrong position', [created(OTHER_ID, 'other', '0-1')]],
  ['the response to a create has another plant', [created(ID, 'first', '0-0', { responseName: 'second' })]],
  ['a duplicate of nothing', [create(78, 'nobody has it', DUPLICATE)]],
  ['a duplicate of nothing', [create(ID, 'first', DUPLICATE)]],
  ['a duplicate before the winner was sent', [create(OTHER_ID, 'early', { ...DUPLICATE, ...at(0) })]],
  [
    'every response said that nothing was stored, but the log has it',
    [create(79, 'not written', NOT_WRITTEN)],
    { log: [...LOG, claim(3, 79, 'not written')] },
  ],
  ['the log has a plant that no client asked for', [], { log: [...LOG, claim(3, 80, 'x')] }],
  ['one plant has two event ids', [], { log: [...LOG, { ...claim(3, ID, 'first'), eventId: 'another' }] }],
  ['a read shows another plant than the log', [read(ID, { status: 200, responseName: 'second' })]],
  ['404 for a plant that the position covers', [read(OTHER_ID, { status: 404, sent: '0-2' })]],
  [DENIED, [read(ID, { status: 404 })]],
  [DENIED, [read(ID, { status: 404, ...at(10, 'api-2', 9) })]],
  ['a list has another plant than the log', [list([SECOND, OTHER])]],
  ['a list is not in log order', [list([OTHER, FIRST])]],
  ['a list has a plant twice', [list([FIRST, FIRST], { isComplete: false })]],
  [OMITTED, [list([OTHER])]],
  [OMITTED, [list([OTHER], at(10, 'api-2', 9))]],
  ['consumer was given a void claim', [], consumed(...LOG)],
  ['consumer was not given a plant', [], consumed(LOG[0])],
])('is a violation: %s', (rule, requests, more) => {
  expect(judged(requests, more).map((violation) => violation.split(': {')[0])).toContain(rule)
})
