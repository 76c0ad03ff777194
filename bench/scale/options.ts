import { numberOf } from '../../tests/support/number-option.ts'
import { knownOptions } from '../known-options.ts'
import type { LoadOptions } from './deployment.ts'

export type Options = LoadOptions & { rounds: number; write: boolean }

const MAX_ROUNDS = 20
const MAX_SECONDS = 60
const MAX_CONNECTIONS = 1_024
/** V8 compiles each api while it works, and each of four apis gets a quarter of the load. */
const WARM_UP_MS = 8_000

export const help = `Measures creates with one, two and four apis and projectors on this machine, with the clients spread over the apis, and
the CPU of an api that gets no requests and only reads what others append.

  npm run bench:scale                       5 rounds over all, 4 s measured in each: a quarter of an hour
  npm run bench:scale -- --rounds 1 --seconds 2 --connections 64
  npm run bench:scale -- --write            writes docs/bench: scale.md and scale.json

Kafka and Redis always run as processes of the benchmark. It fails when a response is unexpected or an acknowledged plant
is missing. On few cores, more processes do not create more plants a second: compare the CPU of a create.
`

/** Undefined when help is requested. Throws a Failure that names what is expected. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = knownOptions(args, {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '256' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  })
  if (values.help) return undefined
  return {
    rounds: numberOf('rounds', values.rounds, MAX_ROUNDS),
    connections: numberOf('connections', values.connections, MAX_CONNECTIONS),
    warmUpMs: WARM_UP_MS,
    measuredMs: 1_000 * numberOf('seconds', values.seconds, MAX_SECONDS),
    write: values.write,
  }
}
