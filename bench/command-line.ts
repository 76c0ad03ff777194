import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { Failure } from '../local/processes/failure.mjs'

/** The options of a command that takes nothing else. Throws a Failure for what it does not know. */
export function optionsOf<const O extends ParseArgsOptionsConfig>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new Failure(`${(error as Error).message} --help tells which options there are.`, { cause: error })
  }
}

/** The whole number that an option says, from 1 to `max`. Throws a Failure that says what is expected. */
export function numberOf(name: string, text: string, max: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > max)
    throw new Failure(`--${name} ${text}: expected a whole number from 1 to ${max}`)
  return value
}
