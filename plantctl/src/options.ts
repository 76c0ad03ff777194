import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { UsageError } from './command.ts'

/**
 * Reads a command's options, and its other words where it takes some. Throws a UsageError for what there is not, and
 * for an option given twice that is not `multiple`: parseArgs would take the last one, and say nothing of the others.
 */
export function readOptions<const O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: O,
  allowPositionals = false,
) {
  const { values, positionals, tokens } = parsed(args, options, allowPositionals)
  const seen = new Set<string>()
  for (const token of tokens) {
    if (token.kind !== 'option' || options[token.name]?.multiple === true) continue
    if (seen.has(token.name)) throw new UsageError(`--${token.name} is given more than once`)
    seen.add(token.name)
  }
  return { values, positionals }
}

function parsed<const O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: O,
  allowPositionals: boolean,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals, strict: true, tokens: true })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

/** The number that `--limit` says, at most `max`; undefined without it. Throws a UsageError. */
export function limitOf(text: string | undefined, max: number): number | undefined {
  if (text === undefined || (/^[1-9]\d{0,14}$/.test(text) && Number(text) <= max))
    return text === undefined ? text : Number(text)
  throw new UsageError(`--limit ${text}: expected a whole number from 1 to ${max}`)
}
