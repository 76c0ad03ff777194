import { type EventId, eventIdOfBytes } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import type { Random } from '../simulation/random.ts'
import { EDGE_IDS } from '../support/generated-plants.ts'
import { FOREIGN, type Headers, type PlantedRecord } from './planted-foreign.ts'
import { type Payload, READABLE, UNREADABLE } from './planted-payloads.ts'

/** The effect of a record. `plant` and `unreadable` are creations. */
export type ComesTo = 'plant' | 'unreadable' | 'repeated' | 'void' | 'foreign'

export type Planted = { name: string; record: PlantedRecord; comesTo: ComesTo }

type Claimed = { id: string; eventId: EventId }

export type Draw = {
  random: Random
  partitions: number
  /** First claims, as far as they count. */
  claimed: Claimed[]
  /** Ids that only records had which do not count. */
  waiting: string[]
  lastId: bigint
}

/** Draws a record of its kind. */
export type Kind = (draw: Draw) => Planted

/** Ids whose doubles are the same, or that are one another's double. */
const NEIGHBOURS = [2n ** 53n, 2n ** 53n + 2n, -(2n ** 53n), 2n ** 63n - 512n, 10n ** 18n, 10n ** 18n + 1n]

const payloads = (comesTo: ComesTo, kinds: Record<string, Payload>): Kind[] =>
  Object.entries(kinds).map(([what, payload]) => (draw) => {
    const claim = newClaim(draw)
    return { name: `${comesTo}: ${what}`, record: { ...claim, value: payload(String(claim.key)) }, comesTo }
  })

const headed = (comesTo: ComesTo, kinds: Record<string, Headers>): Kind[] =>
  Object.entries(kinds).map(([what, headers]) => (draw) => {
    const claim = newClaim(draw)
    return {
      name: `${comesTo}: ${what}`,
      record: { ...claim, headers: { ...claim.headers, ...headers } },
      comesTo,
    }
  })

const VERSION_1 = 'application/json; version=1'
const OTHER_VERSIONS: Record<string, Headers> = {
  'another version': { 'content-type': 'application/json; version=2' },
  'no version': { 'content-type': 'application/json' },
  'a version without its space': { 'content-type': 'application/json;version=1' },
  'a version in capitals': { 'content-type': 'Application/JSON; version=1' },
  'a version with more': { 'content-type': `${VERSION_1}; charset=utf-8` },
  'a version twice': { 'content-type': [VERSION_1, VERSION_1] },
  'a version without content': { 'content-type': '' },
  'no content type': { 'content-type': undefined },
}
/** A reader that compares each header with all earlier ones takes seconds for one such record. */
const MANY = 3_000
const OTHER_HEADERS: Record<string, Headers> = {
  'headers that nobody needs': { ce_time: '2026-01-01T00:00:00Z', 'Content-Type': 'text/plain', '': 'empty' },
  'names of headers that objects inherit': { constructor: 'c', toString: 't', ['__proto__']: 'p' },
  'very many headers': Object.fromEntries(Array.from({ length: MANY }, (_, index) => [`x-${index}`, 'x'])),
  'another specversion': { ce_specversion: '0.3' },
  'neither source nor specversion': { ce_specversion: undefined, ce_source: undefined },
  'a source twice': { ce_source: ['/plants', '/elsewhere'] },
  'a trace': { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
  'an invalid trace': { traceparent: ['x', 'y'] },
}

const edges: Kind[] = [...EDGE_IDS, ...NEIGHBOURS].map((id) => (draw) => ({
  name: 'edge',
  record: claimOf(draw, String(id)),
  comesTo: 'plant',
}))

/** Its id is as free afterwards as before, and waits for a record that claims it. */
const foreign: Kind[] = Object.entries(FOREIGN).map(([what, change]) => (draw) => {
  const id = freeId(draw)
  draw.waiting.push(id)
  return {
    name: `foreign: ${what}`,
    record: change(recordOf(draw, id, anyEventId(draw.random)), draw.partitions),
    comesTo: 'foreign',
  }
})

const created: Kind = (draw) => ({ name: 'created', record: newClaim(draw), comesTo: 'plant' })
/** An id that only aborted transactions and foreign records had before. */
const awaited: Kind = (draw) => ({
  name: 'created after what does not count',
  record: claimOf(draw, draw.waiting.shift() ?? freeId(draw)),
  comesTo: 'plant',
})
const repeated: Kind = (draw) => {
  const { id, eventId } = draw.random.pick(draw.claimed) as Claimed
  return { name: 'repeated', record: recordOf(draw, id, eventId), comesTo: 'repeated' }
}
const voided: Kind = (draw) => {
  const { id } = draw.random.pick(draw.claimed) as Claimed
  return { name: 'void', record: recordOf(draw, id, anyEventId(draw.random)), comesTo: 'void' }
}
const voidAndUnreadable: Kind = (draw) => {
  const { name, record, comesTo } = voided(draw)
  return { name: `${name} and unreadable`, record: { ...record, value: null }, comesTo }
}
/** A void claim whose event id differs from the first one in a single digit. */
const almostRepeated: Kind = (draw) => {
  const { id, eventId } = draw.random.pick(draw.claimed) as Claimed
  const at = draw.random.pick([0, 35]) as number
  const other = eventId[at] === '0' ? '1' : '0'
  const almost = `${eventId.slice(0, at)}${other}${eventId.slice(at + 1)}` as EventId
  return { name: 'almost repeated', record: recordOf(draw, id, almost), comesTo: 'void' }
}
/** One event id for two plants: each is a creation. */
const sharedEvent: Kind = (draw) => {
  const { eventId } = draw.random.pick(draw.claimed) as Claimed
  return {
    name: 'an event id of another plant',
    record: claimOf(draw, freeId(draw), eventId),
    comesTo: 'plant',
  }
}

const odd: Kind[] = [
  ...payloads('plant', READABLE),
  ...payloads('unreadable', UNREADABLE),
  ...headed('plant', OTHER_HEADERS),
  ...headed('unreadable', OTHER_VERSIONS),
]
const later: Kind[] = [repeated, voided, voidAndUnreadable, almostRepeated, sharedEvent]

export const EVERY_KIND: readonly Kind[] = [created, ...edges, ...odd, ...foreign, ...later, awaited]

/** Most are plain creations, as in a log of everyday; then what repeats and what is void; then all that is odd. */
export function anyKind(random: Random): Kind {
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

/** Each event has a different name, which shows whose plant was taken. */
function recordOf({ random, partitions }: Draw, id: string, eventId: EventId): PlantedRecord {
  const name = `plant ${id} of ${eventId.slice(0, 8)}${random.pick(['', '', ' \u{1f335}', ' "quoted"', ' größer'])}`
  const plant = { id: BigInt(id) as PlantId, name, ...(random.chance(0.5) && { tag: anyTag(random) }) }
  const { partition, key, value, headers } = plantCreated(plant, eventId, partitions)
  return { partition, key, value, headers: { ...headers } }
}

const anyTag = (random: Random): string => random.pick(['herb', 'tree', 'shade', '', 'Bäume']) as string

/** An id that no earlier record has: small ones in turn, negative ones, and ones of all digits. */
function freeId(draw: Draw): string {
  draw.lastId += 1n + BigInt(draw.random.below(3))
  const far = (2n ** 62n - draw.lastId * 1_000_003n).toString()
  return draw.random.pick([String(draw.lastId), String(-draw.lastId), far]) as string
}

function anyEventId(random: Random): EventId {
  return eventIdOfBytes(Buffer.from(Array.from({ length: 16 }, () => random.below(256))))
}
