import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { Failure } from '../local/processes/failure.mjs'
import { numberOf } from '../tests/support/number-option.ts'
import type { Load } from './load/load.ts'

/** All options with a whole number: the largest value, and the explanation. */
const NUMBERS = {
  rounds: [50, 'number of rounds'],
  seconds: [300, 'seconds of each measurement'],
  connections: [4_000, 'clients at a time'],
  'warm-up': [60, 'seconds of load before each measurement'],
  events: [20_000_000, 'events to read'],
  partitions: [1_000, 'partitions of the topic'],
  'up-to': [10_000_000, 'plants of the largest store'],
} as const
const AGAINST = 'the folder of another checkout, with its node_modules: its services are measured, too'
const SWITCHES = { quick: 'measures less, for less time', write: 'writes the report to docs/bench', help: 'this text' }

type Numbers = Partial<Record<keyof typeof NUMBERS, number>>

/** The options of a scenario, with the usual numbers and the numbers of a quick run. */
export type Declared = {
  numbers: Numbers
  quick?: Numbers
  canBeAgainst?: true
  /** The parts that `--only` can name, and those that `--quick` measures. */
  parts?: readonly string[]
  quickParts?: readonly string[]
}

/** `leftOut` are the parts that are not measured. */
export type Options = Required<Numbers> & {
  against?: string
  parts: readonly string[]
  leftOut: readonly string[]
  write?: boolean
}

export const loadOf = (options: Options): Load => ({
  connections: options.connections,
  warmUpMs: 1_000 * options['warm-up'],
  measuredMs: 1_000 * options.seconds,
})

const entriesOf = (numbers: Numbers) => Object.entries(numbers) as [keyof Numbers, number][]

/** Undefined when help is requested. Throws a Failure that names the accepted values. */
export function readOptions(args: readonly string[], declared: Declared): Options | undefined {
  const { parts = [], quickParts = parts, canBeAgainst } = declared
  const { values, positionals } = parsed(args, [...Object.keys(declared.numbers), ...(canBeAgainst ? ['against'] : [])])
  if (values.help === true) return undefined
  const only = values.only as string[] | undefined
  if (positionals.length > 0 && only === undefined)
    throw new Failure(`${positionals[0]}: no such argument; --only ${positionals[0]} measures one part`)
  const wanted = only === undefined ? (values.quick ? quickParts : parts) : [...only, ...positionals]
  const unknown = wanted.find((part) => !parts.includes(part))
  if (unknown !== undefined) throw new Failure(`--only ${unknown}: expected any of ${parts.join(', ')}`)
  const numbers: Numbers = {}
  for (const [name, usual] of entriesOf({ ...declared.numbers, ...(values.quick && declared.quick) }))
    numbers[name] = numberOf(name, String(values[name] ?? usual), NUMBERS[name][0])
  const leftOut = parts.filter((part) => !wanted.includes(part))
  return { ...values, ...numbers, parts: parts.filter((part) => wanted.includes(part)), leftOut } as unknown as Options
}

function parsed(args: readonly string[], withValue: readonly string[]) {
  const options: ParseArgsOptionsConfig = {
    only: { type: 'string', multiple: true },
    ...Object.fromEntries(withValue.map((name) => [name, { type: 'string' }] as const)),
    ...Object.fromEntries(Object.keys(SWITCHES).map((name) => [name, { type: 'boolean' }] as const)),
  }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new Failure(`${(error as Error).message}; --help lists the options`, { cause: error })
  }
}

export function optionsHelp({ numbers, quick = {}, canBeAgainst, parts = [], quickParts }: Declared): string {
  const lines = entriesOf(numbers).map(([name, usual]) => {
    const [max, about] = NUMBERS[name]
    const whenQuick = quick[name] ? `, ${quick[name]} with --quick` : ''
    return [`${name} N`, `${about}: ${usual}${whenQuick}, at most ${max}`]
  })
  if (canBeAgainst) lines.push(['against FOLDER', AGAINST])
  if (parts.length > 0) lines.push(['only PART…', `measures some of ${parts.join(', ')}`])
  if (quickParts) lines.push(['quick', `${SWITCHES.quick}: ${quickParts.join(', ')}`])
  const switches = Object.entries(SWITCHES).filter(([name]) => !(quickParts && name === 'quick'))
  return [...lines, ...switches].map(([name = '', about]) => `  --${name.padEnd(15)} ${about}\n`).join('')
}
