import { Failure } from '../local/processes/failure.mjs'
import { numberOf } from '../tests/support/number-option.ts'
import { knownArguments } from './known-options.ts'

/** Which parts of the benchmark to run, and for how long. */
export type Options = {
  rows: readonly string[]
  openLoad: boolean
  projections: boolean
  /** The parts that do not run. */
  leftOut: readonly string[]
  rounds: number
  connections: number
  warmUpMs: number
  measuredMs: number
  oneClientMs: number
  events: number
  seed: number
  write: boolean
}

export const OPEN_LOAD = 'open-load'
export const PROJECTIONS = 'projections'

const CONNECTIONS = 256
const MAX_ROUNDS = 50
const MAX_SECONDS = 60
const MAX_CONNECTIONS = 4_000
const FULL = { rounds: 7, seconds: 4, warmUpMs: 10_000, oneClientMs: 1_500, events: 1_000_000 }
/** The warm-up is the same: without it, the ratios are those of compilers. */
const QUICK = { ...FULL, rounds: 5, seconds: 2, oneClientMs: 500, events: 60_000 }
const QUICK_ROWS = ['this-service', 'no-store', 'postgres']
/** Any number, the same for all contenders. */
const SEED = 20_260_731

export const help = (
  rows: readonly string[],
) => `Measures creates and projections of this service and others, in one run on this machine, and compares them with the
targets.

  npm run bench                                  ${FULL.rounds} rounds of everything; about 40 minutes
  npm run bench -- --quick                       ${QUICK.rounds} short rounds of the creates of ${QUICK_ROWS.length} contenders, in six
                                                 minutes; --only chooses others
  npm run bench -- --only this-service no-store  some parts of it, of:
                                                 ${rows.join(', ')},
                                                 ${OPEN_LOAD} (latency at fixed rates, and overload), ${PROJECTIONS}
  npm run bench -- --rounds 3 --seconds 10       this many rounds, with this many seconds of measured creates in each
  npm run bench -- --connections 64              this many clients at a time; ${CONNECTIONS} by default
  npm run bench -- --write                       writes docs/bench: results.md, results.json and charts

Kafka and Redis always run as processes, so that their CPU can be read by process id. A run fails when a response is
unexpected or an acknowledged plant is missing.
`

/** Undefined when help is requested. Throws a Failure that names what is expected. */
export function readOptions(args: readonly string[], rows: readonly string[]): Options | undefined {
  const { values, positionals } = knownArguments(args, {
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: String(CONNECTIONS) },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return undefined
  const parts = [...rows, OPEN_LOAD, PROJECTIONS]
  if (positionals.length > 0 && values.only === undefined)
    throw new Failure(`${positionals[0]}: it takes no such argument; --only ${positionals[0]} runs a part alone`)
  const unlessNamed = values.quick ? parts.filter((part) => QUICK_ROWS.includes(part)) : parts
  const only = values.only === undefined ? unlessNamed : [...values.only, ...positionals]
  const unknown = only.find((part) => !parts.includes(part))
  if (unknown !== undefined) throw new Failure(`--only ${unknown}: expected any of ${parts.join(', ')}`)
  const { seconds, ...effort } = values.quick ? QUICK : FULL
  return {
    ...effort,
    rows: rows.filter((row) => only.includes(row)),
    openLoad: only.includes(OPEN_LOAD),
    projections: only.includes(PROJECTIONS),
    leftOut: parts.filter((part) => !only.includes(part)),
    rounds: numberOf('rounds', values.rounds ?? String(effort.rounds), MAX_ROUNDS),
    connections: numberOf('connections', values.connections, MAX_CONNECTIONS),
    measuredMs: 1_000 * numberOf('seconds', values.seconds ?? String(seconds), MAX_SECONDS),
    seed: SEED,
    write: values.write,
  }
}
