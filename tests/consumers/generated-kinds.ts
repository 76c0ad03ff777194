import { type EventId, eventIdOfBytes } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { plantCreated, type StoredRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { pick, type Random } from '../simulation/random.ts'
import { type CorpusRecord, corpus } from '../support/corpus.ts'
import { EDGE_IDS, plantWith } from '../support/generated-plants.ts'

export type GeneratedRecord = Omit<StoredRecord, 'offset'> & { partition: Partition }

/** The effect of a record. `plant` and `unreadable` are creations. */
export type ComesTo = 'plant' | 'unreadable' | 'repeated' | 'void' | 'foreign'

export type Generated = { name: string; record: GeneratedRecord; comesTo: ComesTo }

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
export type Kind = (draw: Draw) => Generated

const kind =
  (name: string, comesTo: ComesTo, record: (draw: Draw) => GeneratedRecord): Kind =>
  (draw) => ({ name, comesTo, record: record(draw) })

const idsOfCorpus = corpus.flatMap(({ read, ruling }) => (ruling === 'created' ? [String(read.id)] : []))
/** Ids whose doubles are the same, or that are one another's double. */
const NEIGHBOURS = [2n ** 53n, 2n ** 53n + 2n, -(2n ** 53n), 2n ** 63n - 512n, 10n ** 18n, 10n ** 18n + 1n]
const edges = [...EDGE_IDS, ...NEIGHBOURS]
  .map(String)
  .filter((id) => !idsOfCorpus.includes(id))
  .map((id) => kind('edge', 'plant', (draw) => claimOf(draw, id)))

/** The corpus itself, in which some records depend on earlier ones. */
const asInCorpus = corpus.map((line) =>
  kind(line.about, effectOf(line), ({ claimed }) => {
    const { partition, record, read, ruling } = line
    if (ruling === 'created') claimed.push({ id: String(read.id), eventId: read.eventId as EventId })
    return { ...record, partition }
  }),
)

function effectOf({ read, ruling }: CorpusRecord): ComesTo {
  if (ruling === 'created') return read.is === 'readable' ? 'plant' : 'unreadable'
  return ruling === undefined ? 'foreign' : (ruling as 'repeated' | 'void')
}

/** The lines of the corpus that create a plant or claim its id, for other ids. */
const odd = corpus
  .filter(
    ({ ruling, read, record }) => ruling === 'created' && (read.is !== 'readable' || isIn(`"${read.id}"`, record)),
  )
  .map((line) =>
    kind(line.about, effectOf(line), (draw) => {
      const claim = newClaim(draw)
      const { value, headers } = line.record
      const ofClaim = value?.toString('latin1').replaceAll(`"${line.read.id}"`, `"${String(claim.key)}"`)
      return {
        ...claim,
        value: ofClaim === undefined ? null : Buffer.from(ofClaim, 'latin1'),
        headers: { ...headers, ce_id: claim.headers.ce_id },
      }
    }),
  )

function isIn(text: string, { value }: StoredRecord): boolean {
  return value?.includes(text) ?? false
}

/** A reader that compares each header with all earlier ones takes seconds for one such record. */
const MANY = 3_000
const manyHeaders = kind('very many headers', 'plant', (draw) => {
  const claim = newClaim(draw)
  const more = Object.fromEntries(Array.from({ length: MANY }, (_, index) => [`x-${index}`, Buffer.from('x')]))
  return { ...claim, headers: { ...claim.headers, ...more } }
})

/** An id that a foreign record has is as free afterwards as before, and waits for a record that claims it. */
const foreign = corpus
  .filter(({ read }) => read.is === 'foreign')
  .map(({ about, partition, record, read }) =>
    kind(about, 'foreign', (draw) => {
      const id = freeId(draw)
      draw.waiting.push(id)
      const own = recordOf(draw, id, anyEventId(draw.random))
      const foreignOnes: Record<string, Partial<GeneratedRecord>> = {
        badKey: { key: record.key, partition },
        wrongPartition: { partition: ((own.partition + 1) % draw.partitions) as Partition },
      }
      return { ...own, ...(foreignOnes[String(read.reason)] ?? { headers: record.headers }) }
    }),
  )

const created = kind('created', 'plant', newClaim)
/** An id that only aborted transactions and foreign records had before. */
const awaited = kind('created after what does not count', 'plant', (draw) =>
  claimOf(draw, draw.waiting.shift() ?? freeId(draw)),
)
const repeated = kind('repeated', 'repeated', (draw) => {
  const { id, eventId } = anyClaimed(draw)
  return recordOf(draw, id, eventId)
})
const anotherClaim = (draw: Draw) => recordOf(draw, anyClaimed(draw).id, anyEventId(draw.random))
const voided = kind('void', 'void', anotherClaim)
const voidAndUnreadable = kind('void and unreadable', 'void', (draw) => ({ ...anotherClaim(draw), value: null }))
/** A void claim whose event id differs from the first one in a single digit. */
const almostRepeated = kind('almost repeated', 'void', (draw) => {
  const { id, eventId } = anyClaimed(draw)
  const at = pick([0, 35], draw.random)
  const other = eventId[at] === '0' ? '1' : '0'
  return recordOf(draw, id, `${eventId.slice(0, at)}${other}${eventId.slice(at + 1)}` as EventId)
})
/** One event id for two plants: each is a creation. */
const sharedEvent = kind('an event id of another plant', 'plant', (draw) => {
  const { eventId } = anyClaimed(draw)
  return claimOf(draw, freeId(draw), eventId)
})

const later: Kind[] = [repeated, voided, voidAndUnreadable, almostRepeated, sharedEvent]

export const EVERY_KIND: readonly Kind[] = [
  ...asInCorpus,
  ...[created, ...edges, ...odd, manyHeaders, ...foreign, ...later, awaited],
]

/** Most are plain creations, as in a log of everyday; then what repeats and what is void; then all that is odd. */
export function anyKind(random: Random): Kind {
  const percent = random.below(100)
  if (percent < 66) return created
  if (percent < 74) return awaited
  if (percent < 90) return random.pick(later) as Kind
  if (percent < 97) return random.pick(odd) as Kind
  return random.pick(foreign) as Kind
}

const anyClaimed = ({ random, claimed }: Draw) => pick(claimed, random)

function newClaim(draw: Draw): GeneratedRecord {
  return claimOf(draw, freeId(draw))
}

function claimOf(draw: Draw, id: string, eventId = anyEventId(draw.random)): GeneratedRecord {
  draw.claimed.push({ id, eventId })
  return recordOf(draw, id, eventId)
}

/** Each event has a different name, which shows whose plant was taken. */
function recordOf({ random, partitions }: Draw, id: string, eventId: EventId): GeneratedRecord {
  const name = `plant ${id} of ${eventId.slice(0, 8)}${random.pick(['', '', ' \u{1f335}', ' "quoted"', ' größer'])}`
  const plant = plantWith({ name, ...(random.chance(0.5) && { tag: anyTag(random) }) })
  const { partition, key, value, headers } = plantCreated({ ...plant, id: BigInt(id) as PlantId }, eventId, partitions)
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
