import { createRandom, type Random } from '../simulation/random.ts'
import { anyKind, type ComesTo, type Draw, EVERY_KIND, type GeneratedRecord, type Kind } from './generated-kinds.ts'

// Generates a log that contains everything a reader may get wrong. The log depends only on a seed. No fold of the
// product takes part in generating it.

/** A step of a producer. Records of one writer that are in a transaction count only once it is committed. */
export type Step = { do: 'write'; by: Writer; records: GeneratedRecord[] } | { do: End; by: Exclude<Writer, 'plain'> }
export type Writer = 'plain' | 'first' | 'second'
type End = 'commit' | 'abort'

export type GeneratedLog = {
  steps: Step[]
  records: number
  /** The number of committed records, by their effect. */
  counts: Record<ComesTo, number>
  /** The kind of each creation, by id. */
  kindOf: ReadonlyMap<string, string>
}

/** The corpus has smaller ids, and those at the ends of int64. */
const BEHIND_CORPUS = 100_000n
const STEP_RECORDS = 500
const TRANSACTION_RECORDS = 40
/** One of this many steps is written in transactions. */
const TRANSACTION_EVERY = 4

export function generateLog(seed: number, records: number, partitions: number): GeneratedLog {
  const draw: Draw = { random: createRandom(seed), partitions, claimed: [], waiting: [], lastId: BEHIND_CORPUS }
  const kindOf = new Map<string, string>()
  const counts = { plant: 0, unreadable: 0, repeated: 0, void: 0, foreign: 0 }
  let written = 0

  const write = (by: Writer, kinds: readonly Kind[], end: End = 'commit'): Step => {
    const before = draw.claimed.length
    const drawn = kinds.map((kind) => kind(draw))
    written += drawn.length
    if (end === 'commit') {
      for (const { name, comesTo, record } of drawn) {
        counts[comesTo]++
        if (comesTo === 'plant' || comesTo === 'unreadable') kindOf.set(String(record.key), name)
      }
      // An aborted transaction claims nothing: later records claim these ids with other events.
    } else draw.waiting.push(...draw.claimed.splice(before).map(({ id }) => id))
    return { do: 'write', by, records: drawn.map(({ record }) => record) }
  }

  const steps = [write('plain', EVERY_KIND)]
  for (let turn = 1; written < records; turn++) {
    const left = records - written
    if (turn % TRANSACTION_EVERY === 0 && left >= 3 * TRANSACTION_RECORDS) {
      steps.push(...overlapping(draw.random, write))
    } else steps.push(write('plain', anyKinds(draw.random, Math.min(STEP_RECORDS, left))))
  }
  return { steps, records: written, counts, kindOf }
}

/** Two transactions, of which one ends within the other. */
function overlapping(random: Random, write: (by: Writer, kinds: readonly Kind[], end: End) => Step): Step[] {
  const [first, second] = [anyEnd(random), anyEnd(random)]
  return [
    write('first', anyKinds(random, TRANSACTION_RECORDS), first),
    write('second', anyKinds(random, TRANSACTION_RECORDS), second),
    write('first', anyKinds(random, TRANSACTION_RECORDS), first),
    { do: second, by: 'second' },
    { do: first, by: 'first' },
  ]
}

const anyEnd = (random: Random) => random.pick(['commit', 'abort'] as const) as End
const anyKinds = (random: Random, count: number) => Array.from({ length: count }, () => anyKind(random))
