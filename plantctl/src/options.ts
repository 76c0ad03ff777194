import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { type PlantId, parsePlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { UsageError } from './command.ts'

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

/** The value of `--limit`, at most `max`; undefined without it. Throws a UsageError. */
export function limitOf(text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(text) && Number(text) <= max) return Number(text)
  throw new UsageError(`--limit ${text}: expected a whole number from 1 to ${max}`)
}

/** The value of `--id`; undefined without it. Throws a UsageError. */
export function idOf(text: string | undefined): PlantId | undefined {
  if (text === undefined) return undefined
  const id = parsePlantId(text)
  if (id !== undefined) return id
  throw new UsageError(`--id ${text}: expected an int64 in decimal, such as 7 (--id=-7 for a negative one)`)
}

/** The values of `--partition`, ascending and without repetitions; undefined without any. Throws a UsageError. */
export function partitionsOf(texts: readonly string[] | undefined, count: number): Partition[] | undefined {
  if (texts === undefined) return undefined
  const wrong = texts.find((text) => !/^(0|[1-9]\d{0,3})$/.test(text) || Number(text) >= count)
  if (wrong !== undefined) {
    throw new UsageError(`--partition ${wrong}: expected a partition from 0 to ${count - 1}`)
  }
  return [...new Set(texts.map(Number))].sort((a, b) => a - b) as Partition[]
}
