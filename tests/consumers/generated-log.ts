import { randomUUID } from 'node:crypto'
import { type EventId, eventIdOfBytes } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { plantCreated, type StoredRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Producer, Transaction } from 'kafkajs'
import { createRandom, pick } from '../simulation/random.ts'
import { corpus, messageOf } from '../support/corpus.ts'
import { EDGE_IDS, plantWith } from '../support/generated-plants.ts'
import type { TestTopic } from '../support/topic.ts'

// Generates a log that contains everything a reader may get wrong. The log depends only on a seed. No fold of the
// product takes part in generating it.

type GeneratedRecord = Omit<StoredRecord, 'offset'> & { partition: Partition }
/** The effect of a record. `plant` and `unreadable` are creations. */
type Effect = 'plant' | 'unreadable' | 'repeated' | 'void' | 'foreign'
type Generated = { name: string; effect: Effect; record: GeneratedRecord }
/** Draws the next record. */
type Draw = () => Generated

/** A step of a producer. Records of a writer that is not plain are in a transaction, and count once it is committed. */
type Step = { do: 'write'; by: Writer; records: GeneratedRecord[] } | { do: End; by: Writer }
type Writer = 'plain' | 'first' | 'second'
type End = 'commit' | 'abort'

/** The corpus has smaller ids, and those at the ends of int64. */
const BEHIND_CORPUS = 100_000n
/** Ids whose doubles are the same, or that are one another's double. */
const NEIGHBOURS = [2n ** 53n, 2n ** 53n + 2n, -(2n ** 53n), 2n ** 63n - 512n, 10n ** 18n, 10n ** 18n + 1n]
/** A reader that compares each header with all earlier ones takes seconds for one record with so many. */
const MANY_HEADERS = 3_000
const STEP_RECORDS = 500
const TRANSACTION_RECORDS = 40
/** One of this many steps is written in transactions. */
const TRANSACTION_EVERY = 4

export function generateLog(seed: number, count: number, partitions: number) {
  const random = createRandom(seed)
  /** First claims, as far as they count. */
  const claimed: { id: string; eventId: EventId }[] = []
  /** Ids that only records had which do not count. */
  const waiting: string[] = []
  let lastId = BEHIND_CORPUS

  const anyEventId = () => eventIdOfBytes(Buffer.from(Array.from({ length: 16 }, () => random.below(256))))

  /** An id that no earlier record has: small ones in turn, negative ones, and ones of all digits. */
  function freeId(): string {
    lastId += 1n + BigInt(random.below(3))
    return pick([String(lastId), String(-lastId), String(2n ** 62n - lastId * 1_000_003n)], random)
  }

  /** Each event has a different name, which shows whose plant was taken. */
  function recordOf(id: string, eventId = anyEventId()): GeneratedRecord {
    const name = `plant ${id} of ${eventId.slice(0, 8)}${pick(['', '', ' \u{1f335}', ' "quoted"', ' größer'], random)}`
    const tag = pick([undefined, 'herb', '', 'Bäume'], random)
    const plant = { ...plantWith({ name, ...(tag !== undefined && { tag }) }), id: BigInt(id) as PlantId }
    const { partition, key, value, headers } = plantCreated(plant, eventId, partitions)
    return { partition, key, value, headers: { ...headers } }
  }

  function claimOf(id = freeId(), eventId = anyEventId()): GeneratedRecord {
    claimed.push({ id, eventId })
    return recordOf(id, eventId)
  }

  const kind =
    (name: string, effect: Effect, draw: () => GeneratedRecord): Draw =>
    () => ({ name, effect, record: draw() })
  const created = kind('created', 'plant', claimOf)
  /** An id that only aborted transactions and foreign records had before. */
  const awaited = kind('created after what does not count', 'plant', () => claimOf(waiting.shift()))
  const later = [
    kind('repeated', 'repeated', () => {
      const { id, eventId } = pick(claimed, random)
      return recordOf(id, eventId)
    }),
    kind('void', 'void', () => recordOf(pick(claimed, random).id)),
    kind('void and unreadable', 'void', () => ({ ...recordOf(pick(claimed, random).id), value: null })),
    // The event id differs from the first one in a single digit.
    kind('almost repeated', 'void', () => {
      const { id, eventId } = pick(claimed, random)
      const at = pick([0, 35], random)
      const other = eventId[at] === '0' ? '1' : '0'
      return recordOf(id, `${eventId.slice(0, at)}${other}${eventId.slice(at + 1)}` as EventId)
    }),
    kind('an event id of another plant', 'plant', () => claimOf(freeId(), pick(claimed, random).eventId)),
  ]
  const unreadable = [null, '', '{', '[]', '{"id":7}'].map((text) =>
    kind(`the payload ${text}`, 'unreadable', () => ({
      ...claimOf(),
      value: text === null ? null : Buffer.from(text),
    })),
  )
  const unknownVersion = kind('an unknown version', 'unreadable', () => {
    const claim = claimOf()
    return { ...claim, headers: { ...claim.headers, 'content-type': Buffer.from('application/json; version=99') } }
  })
  /** An id that a foreign record has is as free afterwards as before, and waits for a record that claims it. */
  const foreign = [
    () => ({ headers: {} }),
    ({ headers }: GeneratedRecord) => ({ headers: { ...headers, ce_type: Buffer.from('PlantMoved') } }),
    ({ headers }: GeneratedRecord) => ({ headers: { ...headers, ce_id: Buffer.from('7') } }),
    ({ partition }: GeneratedRecord) => ({ partition: ((partition + 1) % partitions) as Partition }),
  ].map((change) =>
    kind('foreign', 'foreign', () => {
      const id = freeId()
      waiting.push(id)
      const record = recordOf(id)
      return { ...record, ...change(record) }
    }),
  )

  /** Most are plain creations, as in a log of everyday; then what repeats and what is void; then all that is odd. */
  function anyRecord(): Generated {
    const percent = random.below(100)
    if (percent < 66) return created()
    if (percent < 74) return awaited()
    if (percent < 90) return pick(later, random)()
    return pick(percent < 97 ? [...unreadable, unknownVersion] : foreign, random)()
  }

  /** Every record of the corpus, some of which depend on earlier ones, and every kind. */
  function everyKind(): Generated[] {
    const ofCorpus = corpus.map(({ about, partition, record, read, ruling = 'foreign' }): Generated => {
      if (ruling === 'created') claimed.push({ id: String(read.id), eventId: read.eventId as EventId })
      const creation = read.is === 'readable' ? 'plant' : 'unreadable'
      return {
        name: about,
        effect: ruling === 'created' ? creation : (ruling as Effect),
        record: { ...record, partition },
      }
    })
    const used = new Set(claimed.map(({ id }) => id))
    const edges = [...EDGE_IDS, ...NEIGHBOURS].map(String).filter((id) => !used.has(id))
    const manyHeaders = kind('very many headers', 'plant', () => {
      const claim = claimOf()
      const more = Array.from({ length: MANY_HEADERS }, (_, n) => [`x-${n}`, Buffer.from('x')])
      return { ...claim, headers: { ...claim.headers, ...Object.fromEntries(more) } }
    })
    const others = [...later, ...unreadable, unknownVersion, ...foreign, manyHeaders, created, awaited]
    return [
      ...ofCorpus,
      ...edges.map((id) => kind('edge', 'plant', () => claimOf(id))()),
      ...others.map((draw) => draw()),
    ]
  }

  /** The kind of each creation, by id. */
  const kindOf = new Map<string, string>()
  const counts = { plant: 0, unreadable: 0, repeated: 0, void: 0, foreign: 0 }
  let written = 0
  function write(by: Writer, draw: () => Generated[], end: End = 'commit'): Step {
    const before = claimed.length
    const drawn = draw()
    written += drawn.length
    if (end === 'commit') {
      for (const { name, effect, record } of drawn) {
        counts[effect]++
        if (effect === 'plant' || effect === 'unreadable') kindOf.set(String(record.key), name)
      }
      // An aborted transaction claims nothing: later records claim these ids with other events.
    } else waiting.push(...claimed.splice(before).map(({ id }) => id))
    return { do: 'write', by, records: drawn.map(({ record }) => record) }
  }
  const some = (length: number) => () => Array.from({ length }, anyRecord)

  /** Two transactions, of which one ends within the other. */
  function overlapping(): Step[] {
    const [first, second] = [pick(['commit', 'abort'] as const, random), pick(['commit', 'abort'] as const, random)]
    return [
      write('first', some(TRANSACTION_RECORDS), first),
      write('second', some(TRANSACTION_RECORDS), second),
      write('first', some(TRANSACTION_RECORDS), first),
      { do: second, by: 'second' },
      { do: first, by: 'first' },
    ]
  }

  const steps = [write('plain', everyKind)]
  for (let turn = 1; written < count; turn++) {
    const left = count - written
    if (turn % TRANSACTION_EVERY === 0 && left >= 3 * TRANSACTION_RECORDS) steps.push(...overlapping())
    else steps.push(write('plain', some(Math.min(STEP_RECORDS, left))))
  }
  return { steps, counts, kindOf }
}

/** Writes the steps one after another: in each partition the records lie in their order. */
export async function writeSteps(steps: readonly Step[], { kafka, topic }: TestTopic): Promise<void> {
  const once = { maxInFlightRequests: 1, allowAutoTopicCreation: false, retry: { retries: 0 } }
  const transactional = () =>
    kafka.producer({ ...once, idempotent: true, retry: { retries: 5 }, transactionalId: randomUUID() })
  const producers: Record<Writer, Producer> = {
    plain: kafka.producer(once),
    first: transactional(),
    second: transactional(),
  }
  await Promise.all(Object.values(producers).map((producer) => producer.connect()))
  const open = new Map<Writer, Transaction>()
  try {
    for (const step of steps) {
      if (step.do !== 'write') {
        await open.get(step.by)?.[step.do]()
        open.delete(step.by)
        continue
      }
      if (step.by !== 'plain' && !open.has(step.by)) open.set(step.by, await producers[step.by].transaction())
      const writer = open.get(step.by) ?? producers[step.by]
      await writer.send({ topic, acks: -1, messages: step.records.map(messageOf) })
    }
  } finally {
    await Promise.all(Object.values(producers).map((producer) => producer.disconnect()))
  }
}
