import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { Failure } from '../local/processes/failure.mjs'

/** What a command was given that takes these options and nothing else. Throws a Failure for all others. */
export function knownOptions<const O extends ParseArgsOptionsConfig>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new Failure(`${(error as Error).message}; --help tells which options there are`, { cause: error })
  }
}
