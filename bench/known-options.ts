import { type ParseArgsConfig, type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { Failure } from '../local/processes/failure.mjs'

/** Parses the arguments of a command that takes only these options. Throws a Failure for any other argument. */
export function knownOptions<const O extends ParseArgsOptionsConfig>(args: readonly string[], options: O) {
  return knownArguments(args, { options, allowPositionals: false }).values
}

/** The same, for a command that may take what is no option, too. */
export function knownArguments<const T extends ParseArgsConfig>(args: readonly string[], config: T) {
  try {
    return parseArgs({ ...config, args: [...args] })
  } catch (error) {
    throw new Failure(`${(error as Error).message}; --help lists the options`, { cause: error })
  }
}
