import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { type PlantId, parsePlantId } from '@plant-store/shared/plant/plant.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { formatNumber } from '@plant-store/shared/runtime/format.ts'
import { UsageError } from './command.ts'

/** Kinds of options: with a value, without one, and with a value each time it is given. */
export const TEXT = { type: 'string' } as const
export const FLAG = { type: 'boolean' } as const
export const LIST = { type: 'string', multiple: true } as const

/**
 * Parses the options of a command, and its positionals where it takes any. Throws a UsageError for unknown options, and
 * for a repeated one that is not `multiple`: parseArgs would silently use the last value.
 */
export function readOptions<const O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: O,
  allowPositionals = false,
) {
  const { values, positionals, tokens } = parse(args, options, allowPositionals)
  const seen = new Set<string>()
  for (const token of tokens) {
    if (token.kind !== 'option' || options[token.name]?.multiple === true) continue
    if (seen.has(token.name)) throw new UsageError(`--${token.name} is given more than once`)
    seen.add(token.name)
  }
  return { values, positionals }
}

function parse<const O extends ParseArgsOptionsConfig>(args: readonly string[], options: O, allowPositionals: boolean) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals, strict: true, tokens: true })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

/** The value of an option, a whole number from 1 to `max`; undefined without it. Throws a UsageError. */
export function numberOf(option: string, text: string | undefined, max: number, what: string): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(text) && Number(text) <= max) return Number(text)
  throw new UsageError(`${option} ${text}: expected ${what}, from 1 to ${formatNumber(max)}`)
}

export function idOf(text: string | undefined): PlantId | undefined {
  if (text === undefined) return undefined
  const id = parsePlantId(text)
  if (id !== undefined) return id
  throw new UsageError(`--id ${text}: expected an int64 in decimal, such as 7 (--id=-7 for a negative one)`)
}

/** The values of `--partition`, ascending and without repetitions; all partitions without any. Throws a UsageError. */
export function partitionsOf(texts: readonly string[] | undefined, count: number): Partition[] {
  if (texts === undefined) return allPartitions(count)
  const wrong = texts.find((text) => !/^(0|[1-9]\d{0,3})$/.test(text) || Number(text) >= count)
  if (wrong !== undefined) {
    throw new UsageError(`--partition ${wrong}: expected a partition from 0 to ${count - 1}`)
  }
  return [...new Set(texts.map(Number))].sort((a, b) => a - b) as Partition[]
}

const DURATION = /^([1-9]\d{0,6})([smhd])$/
const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `30s`, `15m`, `2h` or `7d` in ms; undefined for anything else. */
export function durationOf(text: string): number | undefined {
  const [, count, unit] = DURATION.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS]
}
