import { readRun } from '../local/launch/run-file.ts'
import { localDirOf } from '../local/launch/settings.ts'
import { root } from '../local/places.mjs'
import { describe, Failure } from '../local/processes/failure.mjs'
import { runForeground } from '../local/processes/foreground.mjs'
import { PROGRAMS, REQUIRED_SETTINGS } from './programs.ts'

const HELP = `Runs an example of a consumer. Downloads and builds what it needs.

  npm run example -- search-index follow     a live full-text index in SQLite (TypeScript)
  npm run example -- own-table rebuild       a table rebuilt beside the old one (TypeScript)
  npm run example -- python follow           effects exactly once (Python 3.10 or newer)
  npm run example -- java follow             the rule in memory (Java 17 or newer, and Maven)
  npm run example -- python-table            all plants from the table, without a rule (Python 3.10 or newer)
  npm run example -- java-streams follow     waterings joined with the table by Kafka Streams (Java 17 or newer, and Maven)
  npm run example -- connect                 the table into the file PLANTS_FILE by Kafka Connect (the same)
  npm run example -- connect-jdbc            the table into PostgreSQL at JDBC_URL by Kafka Connect (the same)

Each has a README in examples. KAFKA_BROKERS, PLANTS_TOPIC and PLANTS_TABLE name the topics to read: by default those of
a running npm start, else localhost:19092, plants and plants.table.
`

const DEFAULTS = { KAFKA_BROKERS: 'localhost:19092', PLANTS_TOPIC: 'plants', PLANTS_TABLE: 'plants.table' }

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(describe(error))
  return 1
})

/** Resolves to the exit code. */
async function main([name, ...rest]: string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h') {
    process.stdout.write(HELP)
    return 0
  }
  const prepare = PROGRAMS[name]
  if (prepare === undefined) throw new Failure(`There is no example ${name}: ${Object.keys(PROGRAMS).join(', ')}.`)
  const missing = REQUIRED_SETTINGS[name]?.filter((setting) => process.env[setting] === undefined) ?? []
  if (missing.length > 0)
    throw new Failure(`The example ${name} needs ${missing.join(', ')}: see examples/${name}/README.md.`)
  const { command, args, env = process.env } = await prepare()
  return runForeground(command, [...args, ...rest], { cwd: process.env.INIT_CWD ?? root, env: environment(env) })
}

function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const run = readRun(localDirOf(env))
  if (run === undefined || env.KAFKA_BROKERS) return { ...DEFAULTS, ...env }
  const { KAFKA_BROKERS, KAFKA_SECURITY_PROTOCOL } = run.storeSettings.plantctl
  if (KAFKA_SECURITY_PROTOCOL !== undefined)
    throw new Failure('The running npm start has a Kafka with logins: set KAFKA_BROKERS and the settings of a login.')
  const table = run.table === 'on' || run.table === 'off' ? `${run.topic}.table` : run.table
  return { PLANTS_TOPIC: run.topic, PLANTS_TABLE: table, ...env, KAFKA_BROKERS }
}
