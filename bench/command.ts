import { describe } from '../local/processes/failure.mjs'
import { type BenchStores, openProcessStores } from './stores.ts'

export type Command<Options> = {
  help: string
  /** Undefined when help is requested. Throws a Failure that names what is expected. */
  readOptions(args: readonly string[]): Options | undefined
  run(options: Options): Promise<void>
}

/** Runs a benchmark, from its command line to its exit code. Prints an error with advice, if there is any. */
export async function runCommand<Options>({ help, readOptions, run }: Command<Options>): Promise<void> {
  try {
    const options = readOptions(process.argv.slice(2))
    if (options === undefined) process.stdout.write(help)
    else await run(options)
  } catch (error) {
    console.error(describe(error))
    process.exitCode = 1
  }
}

type Ending = { end(): Promise<void> }

/** Ends the stores afterwards, also when `use` fails. */
export async function withStores<Stores extends Ending>(
  opening: Promise<Stores>,
  use: (stores: Stores) => Promise<void>,
): Promise<void> {
  const stores = await opening
  try {
    await use(stores)
  } finally {
    await stores.end()
  }
}

export type Report<Results> = {
  measure(stores: BenchStores): Promise<Results>
  plainReport(results: Results): string
  /** Returns the paths of the files that it wrote. */
  writeReport(results: Results): string[]
}

/** Measures with a Kafka and a Redis of its own. Prints the report, and writes it to files when `isWritten`. */
export function report<Results>(
  isWritten: boolean,
  { measure, plainReport, writeReport }: Report<Results>,
): Promise<void> {
  return withStores(openProcessStores(), async (stores) => {
    const results = await measure(stores)
    console.log(`\n${plainReport(results)}`)
    if (isWritten) console.log(`\nwritten: ${writeReport(results).join(', ')}`)
  })
}
