import { parseEventId } from '../plant/event-id.ts'
import { offsetOf } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { PreconditionError, resultOf } from '../runtime/failures.ts'

/** Incremented when apply.lua derives another result from a log. A release never applies to a newer release's fold. */
export const FOLD_VERSION = 1

/** All fields of a generation's meta hash, in the order in which state.lua returns them. */
export const META_FIELDS = ['checkpoint', 'event', 'fold', 'partitions', 'plants', 'voids', 'parked', 'mark'] as const
/** The keys whose time to live state.lua returns, in this order. */
const KEYS = ['live', 'filling', 'meta', 'plants', 'order', 'parked'] as const

export type GenerationState = ReturnType<typeof generationState>
type Texts = Record<(typeof META_FIELDS)[number], string>
type Times = Record<(typeof KEYS)[number], number>

/** The result of state.lua for one generation, read at one moment. */
export function generationState(reply: readonly string[]) {
  const [generation = '', live = '', filling = '', ...fields] = reply
  const number = (at: number) => Number(fields[at])
  return {
    /** '' when the live generation was requested and there is no pointer. */
    generation,
    /** The generations that the pointers name; '' without a pointer. */
    live,
    filling,
    /** Undefined without a meta, or when the stored checkpoint is not an offset. Such a generation is not a fold. */
    checkpoint: checkpointIn(fields),
    fold: number(2),
    partitions: number(3),
    /** Counts of the meta. */
    plants: number(4),
    voids: number(5),
    parked: number(6),
    mark: fields[7] ?? '',
    /** The fields of the meta as text, exactly as stored; '' for an absent field. */
    texts: Object.fromEntries(META_FIELDS.map((name, at) => [name, fields[at] ?? ''])) as Texts,
    /** Number of elements in each key; -1 for a key of another type. */
    sizes: { plants: number(8), order: number(9), parked: number(10) },
    /** Time to live of each key in ms: -1 for a key that does not expire, as none should; -2 for an absent key. */
    ttlMs: Object.fromEntries(KEYS.map((key, at) => [key, number(11 + at)])) as Times,
  }
}

function checkpointIn([offset, event]: readonly string[]): Checkpoint | undefined {
  return offset ? resultOf(() => storedCheckpoint(offset, event)) : undefined
}

/** Throws a RangeError for a non-canonical offset, because the scripts compare checkpoints as text. */
export function storedCheckpoint(offset = '-1', event = ''): Checkpoint {
  const parsed = resultOf(() => offsetOf(offset))
  if (parsed === undefined || String(parsed) !== offset) {
    throw new RangeError(
      `the read model has an invalid checkpoint, ${JSON.stringify(offset)}: another program changed it. plantctl verify ` +
        'names the repair',
    )
  }
  return { offset: parsed, eventId: parseEventId(event) ?? '' }
}

/** Throws a PreconditionError when the read model was folded from a topic with another number of partitions. */
export function assertPartitionCount(found: number, configured: number): void {
  if (found === configured) return
  throw new PreconditionError(
    `the read model was folded from a topic of ${found} partitions, but PLANTS_PARTITIONS is ${configured}: ` +
      'correct PLANTS_PARTITIONS, use another REDIS_URL, or delete the keys of this topic to rebuild the read model',
  )
}

/** Throws a PreconditionError when a newer release has folded the read model. NaN does not count as newer. */
export function assertFoldVersion(found: number): void {
  if (Number.isNaN(found) || found <= FOLD_VERSION) return
  throw new PreconditionError(
    `the read model was folded by a newer release (fold version ${found}; this release has ${FOLD_VERSION}): start that release`,
  )
}

/** Throws a PreconditionError for a refusal of a script, and an Error for a result that is none. */
export function refuse(outcome: string, detail = '', partitions = 0): never {
  if (outcome === 'FOLD') assertFoldVersion(Number(detail))
  if (outcome === 'PARTITIONS') assertPartitionCount(Number(detail), partitions)
  throw new Error(`a script of the read model returned an unexpected result: ${outcome}`)
}
