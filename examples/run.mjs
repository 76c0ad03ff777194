import { readRun } from '../local/launch/run-file.mjs'
import { readSettings } from '../local/launch/settings.mjs'
import { root } from '../local/places.mjs'
import { runForeground } from '../local/processes/command.mjs'
import { describe, Failure } from '../local/processes/failure.mjs'
import { PROGRAMS } from './programs.mjs'

const help = `Runs an example of a consumer. Downloads and builds what it needs.

  npm run example -- search-index follow     a live full-text index in SQLite (TypeScript)
  npm run example -- own-table rebuild       a table rebuilt beside the old one (TypeScript)
  npm run example -- python follow           effects exactly once (Python 3.10 or newer)
  npm run example -- java follow             the rule in memory (Java 17 or newer, and Maven)

Each prints its usage without arguments and has a README in examples. KAFKA_BROKERS and PLANTS_TOPIC name the topic to
read: by default that of a running npm start, else localhost:9092 and plants.
`

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(describe(error))
  return 1
})

/**
 * @param {string[]} args
 * @returns {Promise<number>} the exit code
 */
async function main([name, ...rest]) {
  if (name === undefined || name === '--help' || name === '-h') {
    process.stdout.write(help)
    return 0
  }
  const prepare = PROGRAMS[name]
  if (prepare === undefined) throw new Failure(`There is no example ${name}: ${Object.keys(PROGRAMS).join(', ')}.`)
  const { command, args } = await prepare()
  return runForeground(command, [...args, ...rest], { cwd: process.env.INIT_CWD ?? root, env: environment() })
}

/** @returns {NodeJS.ProcessEnv} */
function environment() {
  const run = readRun(readSettings(process.env).localDir)
  if (run === undefined || process.env.KAFKA_BROKERS) return process.env
  return { PLANTS_TOPIC: run.topic, ...process.env, KAFKA_BROKERS: run.kafkaBrokers }
}
