import { Failure } from '../../local/processes/failure.mjs'
import { numberOf } from '../../tests/support/number-option.ts'
import { knownOptions } from '../known-options.ts'

export type Options = {
  sizes: readonly number[]
  rounds: number
  connections: number
  measuredMs: number
  write: boolean
}

const SIZES = [1e4, 1e5, 1e6, 1e7]
const MAX_ROUNDS = 20
const MAX_SECONDS = 60
const MAX_CONNECTIONS = 1_024

export const help = `Measures the cost of a create and of a read, the start-up time of the services, the time of a rebuild, and the memory,
in stores of 10,000, 100,000 and 1,000,000 plants.

  npm run bench:growth                       5 rounds over all sizes in turn, 3 s of reads and of creates in each
  npm run bench:growth -- --up-to 1e7        with 10,000,000 plants, too: up to half an hour, 3 GB of disk and 2 of memory
  npm run bench:growth -- --up-to 1e5        only up to 100,000 plants
  npm run bench:growth -- --rounds 2 --seconds 1 --connections 64
  npm run bench:growth -- --write            writes docs/bench: growth.md, growth.json and growth.svg

The plants are appended to the log as the api does it, and the real projector applies them to Redis. Kafka and Redis
always run as processes of the benchmark. It fails when a response is unexpected or an acknowledged plant is missing.
`

/** Undefined when help is requested. Throws a Failure that names what is expected. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = knownOptions(args, {
    'up-to': { type: 'string', default: '1e6' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '128' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  })
  if (values.help) return undefined
  const upTo = Number(values['up-to'])
  if (!SIZES.includes(upTo)) throw new Failure(`--up-to ${values['up-to']}: expected 1e4, 1e5, 1e6 or 1e7`)
  return {
    sizes: SIZES.filter((size) => size <= upTo),
    rounds: numberOf('rounds', values.rounds, MAX_ROUNDS),
    connections: numberOf('connections', values.connections, MAX_CONNECTIONS),
    measuredMs: 1_000 * numberOf('seconds', values.seconds, MAX_SECONDS),
    write: values.write,
  }
}
