import { type EventId, eventIdOfBytes } from '@plant-store/shared/plant/event-id.ts'
import type { Partition } from '@plant-store/shared/plant/offset.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import type { PlantId } from '@plant-store/shared/plant/plant-id.ts'
import { createRandom, type Random } from '../simulation/random.ts'
import { EDGE_IDS } from '../support/generated-plants.ts'
import { FOREIGN, type Headers } from './planted-foreign.ts'
import { READABLE, UNREADABLE } from './planted-payloads.ts'

// A log in which all is planted that a reader may take wrongly. It follows from a number alone, and no fold of the
// product takes part in making it.

export type PlantedRecord = {
  partition: Partition
  key: Buffer | null
  value: Buffer | null
  headers: Headers
}

/** What a producer does. Records of one writer that are in a transaction count only once it is committed. */
export type Step =
  | { do: 'write'; by: Writer; records: PlantedRecord[] }
  | { do: 'commit' | 'abort'; by: Exclude<Writer, 'plain'> }
export type Writer = 'plain' | 'first' | 'second'

export type PlantedLog = { steps: Step[]; records: number; planted: ReadonlyMap<string, number> }

type Claimed = { id: string; eventId: EventId }
type Draw = { random: Random; partitions: number; claimed: Claimed[]; waiting: string[]; lastId: bigint }

/** Ids whose doubles are the same, or that are one another's double. */
const NEIGHBOURS = [2n ** 53n, 2n ** 53n + 2n, -(2n ** 53n), 2n ** 63n - 512n, 10n ** 18n, 10n ** 18n + 1n]
const STEP_RECORDS = 500
const TRANSACTION_RECORDS = 40
/** Of so many steps one is written in transactions. */
const TRANSACTION_EVERY = 4

export function plantLog(seed: number, records: number, partitions: number): PlantedLog {
  const draw: Draw = { random: createRandom(seed), partitions, claimed: [], waiting: [], lastId: 1n }
  const planted = new Map<string, number>()
  let written = 0
  const write = (by: Writer, kinds: readonly Kind[]): Step => {
    written += kinds.length
    const drawn = kinds.map((kind) => kind(draw))
    for (const { name } of drawn) planted.set(name, (planted.get(name) ?? 0) + 1)
    return { do: 'write', by, records: drawn.map(({ record }) => record) }
  }
  const some = (by: Writer, count: number): Step =>
    write(
      by,
      Array.from({ length: count }, () => anyKind(draw.random)),
    )

  const steps = [write('plain', EVERY_KIND)]
  for (let turn = 1; written < records; turn++) {
    const left = records - written
    if (turn % TRANSACTION_EVERY === 0 && left >= 3 * TRANSACTION_RECORDS) {
      steps.push(...overlapping(draw, (by) => some(by, TRANSACTION_RECORDS)))
    } else steps.push(some('plain', Math.min(STEP_RECORDS, left)))
  }
  return { steps, records: written, planted }
}

/**
 * Two transactions, of which one ends within the other. What an aborted one claimed was never claimed: others have
 * these ids afterwards, with events of their own.
 */
function overlapping(draw: Draw, write: (by: Writer) => Step): Step[] {
  const [first, second] = [anyEnd(draw.random), anyEnd(draw.random)]
  const writes = [
    claiming(draw, first, () => write('first')),
    claiming(draw, second, () => write('second')),
    claiming(draw, first, () => write('first')),
  ]
  return [...writes, { do: second, by: 'second' }, { do: first, by: 'first' }]
}

const anyEnd = (random: Random) => random.pick(['commit', 'abort'] as const) as 'commit' | 'abort'

/** What is aborted is taken back from what counts as claimed; its ids wait for somebody else. */
function claiming(draw: Draw, end: 'commit' | 'abort', write: () => Step): Step {
  const before = draw.claimed.length
  const step = write()
  if (end === 'abort') draw.waiting.push(...draw.claimed.splice(before).map(({ id }) => id))
  return step
}

type Kind = (draw: Draw) => { name: string; record: PlantedRecord }

const kinds = (group: string, payloads: Record<string, (id: string) => Buffer | null>): Kind[] =>
  Object.entries(payloads).map(([what, payload]) => (draw) => {
    const claim = newClaim(draw)
    return { name: `${group}: ${what}`, record: { ...claim, value: payload(String(claim.key)) } }
  })

const otherVersions: Kind[] = [
  ['another version', { 'content-type': 'application/json; version=2' }],
  ['no version', { 'content-type': 'application/json' }],
  ['a version without its space', { 'content-type': 'application/json;version=1' }],
  ['a version in capitals', { 'content-type': 'Application/JSON; version=1' }],
  ['a version with more', { 'content-type': 'application/json; version=1; charset=utf-8' }],
  ['a version twice', { 'content-type': ['application/json; version=1', 'application/json; version=1'] }],
  ['a version without content', { 'content-type': '' }],
  ['no content type', { 'content-type': undefined }],
].map(
  ([what, headers]): Kind =>
    (draw) => ({ name: `version: ${what}`, record: withHeaders(newClaim(draw), headers as Headers) }),
)

const sparse: Kind[] = [
  [
    'headers that nobody needs',
    { ce_time: '2026-01-01T00:00:00Z', 'Content-Type': 'text/plain', '': 'empty' },
  ],
  ['another specversion', { ce_specversion: '0.3' }],
  ['neither source nor specversion', { ce_specversion: undefined, ce_source: undefined }],
  ['a source twice', { ce_source: ['/plants', '/elsewhere'] }],
  ['a trace', { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }],
  ['a trace that is none', { traceparent: ['x', 'y'] }],
].map(
  ([what, headers]): Kind =>
    (draw) => ({ name: `headers: ${what}`, record: withHeaders(newClaim(draw), headers as Headers) }),
)

const edges: Kind[] = [...EDGE_IDS, ...NEIGHBOURS].map((id) => (draw) => ({
  name: 'edge',
  record: claimOf(draw, String(id)),
}))

/** Its id is as free afterwards as before, and waits for somebody who claims it. */
const foreign: Kind[] = Object.entries(FOREIGN).map(([what, change]) => (draw) => {
  const id = freeId(draw)
  draw.waiting.push(id)
  return {
    name: `foreign: ${what}`,
    record: change(recordOf(draw, id, anyEventId(draw.random)), draw.partitions),
  }
})

const created: Kind = (draw) => ({ name: 'created', record: newClaim(draw) })
/** An id that only aborted transactions and foreign records had before. */
const awaited: Kind = (draw) => ({
  name: 'created after what does not count',
  record: claimOf(draw, draw.waiting.shift() ?? freeId(draw)),
})
const repeated: Kind = (draw) => {
  const { id, eventId } = draw.random.pick(draw.claimed) as Claimed
  return { name: 'repeated', record: recordOf(draw, id, eventId) }
}
const voided: Kind = (draw) => {
  const { id } = draw.random.pick(draw.claimed) as Claimed
  return { name: 'void', record: recordOf(draw, id, anyEventId(draw.random)) }
}
/** A void claim whose event id differs from the first one in a single digit. */
const almostRepeated: Kind = (draw) => {
  const { id, eventId } = draw.random.pick(draw.claimed) as Claimed
  const at = draw.random.pick([0, 35]) as number
  const other = eventId[at] === '0' ? '1' : '0'
  const almost = `${eventId.slice(0, at)}${other}${eventId.slice(at + 1)}` as EventId
  return { name: 'almost repeated', record: recordOf(draw, id, almost) }
}
/** One event id for two plants: each is a creation. */
const sharedEvent: Kind = (draw) => {
  const { eventId } = draw.random.pick(draw.claimed) as Claimed
  return { name: 'an event id of another plant', record: claimOf(draw, freeId(draw), eventId) }
}

const odd: Kind[] = [
  ...kinds('readable', READABLE),
  ...kinds('unreadable', UNREADABLE),
  ...otherVersions,
  ...sparse,
]
const later: Kind[] = [repeated, voided, almostRepeated, sharedEvent]

const EVERY_KIND: readonly Kind[] = [created, ...edges, ...odd, ...foreign, ...later, awaited]

/** Most are plain creations, as in a log of everyday; then what repeats and what is void; then all that is odd. */
function anyKind(random: Random): Kind {
  const percent = random.below(100)
  if (percent < 66) return created
  if (percent < 74) return awaited
  if (percent < 90) return random.pick(later) as Kind
  if (percent < 97) return random.pick(odd) as Kind
  return random.pick(foreign) as Kind
}

const newClaim = (draw: Draw): PlantedRecord => claimOf(draw, freeId(draw))

function claimOf(draw: Draw, id: string, eventId = anyEventId(draw.random)): PlantedRecord {
  draw.claimed.push({ id, eventId })
  return recordOf(draw, id, eventId)
}

function recordOf({ random, partitions }: Draw, id: string, eventId: EventId): PlantedRecord {
  const name = `plant ${id}${random.pick(['', '', ' \u{1f335}', ' "quoted"', ' größer'])}`
  const plant = { id: BigInt(id) as PlantId, name, ...(random.chance(0.5) && { tag: anyTag(random) }) }
  const { partition, key, value, headers } = plantCreated(plant, eventId, partitions)
  return { partition, key, value, headers: { ...headers } }
}

const anyTag = (random: Random): string => random.pick(['herb', 'tree', 'shade', '', 'Bäume']) as string

/** An id that nobody has: small ones in turn, negative ones, and ones of all digits. */
function freeId(draw: Draw): string {
  draw.lastId += 1n + BigInt(draw.random.below(3))
  const far = (2n ** 62n - draw.lastId * 1_000_003n).toString()
  return draw.random.pick([String(draw.lastId), String(-draw.lastId), far]) as string
}

function anyEventId(random: Random): EventId {
  return eventIdOfBytes(Buffer.from(Array.from({ length: 16 }, () => random.below(256))))
}

function withHeaders(record: PlantedRecord, headers: Headers): PlantedRecord {
  return { ...record, headers: { ...record.headers, ...headers } }
}
