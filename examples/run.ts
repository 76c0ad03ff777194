import { globSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { readRun } from '../local/launch/run-file.ts'
import { localDirOf } from '../local/launch/settings.ts'
import { root } from '../local/places.mjs'
import { Failure, runProgram } from '../local/processes/failure.mjs'
import { runForeground } from '../local/processes/foreground.mjs'
import { findJava, JAVA_LANGUAGE, javaEnvironment } from '../local/stores/java.ts'
import { builtOnce } from '../local/toolchain/built-once.ts'
import { installPython } from '../local/toolchain/python.ts'

const HELP = `Runs an example of a consumer. Downloads and builds what it needs.

  npm run example -- own-table follow        a table in SQLite, live, or rebuilt (TypeScript)
  npm run example -- python follow           effects exactly once (Python 3.10 or newer)
  npm run example -- java follow             the rule in memory (Java 17 or newer, and Maven)
  npm run example -- python-table            all plants from the table, without a rule (Python 3.10 or newer)
  npm run example -- java-streams follow     waterings joined with the table by Kafka Streams (Java 17 or newer, and Maven)
  npm run example -- connect                 the table into the file PLANTS_FILE by Kafka Connect (the same)
  npm run example -- connect-jdbc            the table into PostgreSQL at JDBC_URL by Kafka Connect (the same)

Each has a README in examples. KAFKA_BROKERS, PLANTS_TOPIC and PLANTS_TABLE name the topics to read: by default those of
a running npm start, else localhost:19092, plants and plants.table.
`
const BUILD_TIMEOUT_MS = 300_000

type Program = { command: string; args: string[]; env?: NodeJS.ProcessEnv }

/**
 * The command that runs each example. Downloads and compiled files go into a folder below .local, named by a digest of
 * their sources. Each throws a Failure that says what to install.
 */
export const PROGRAMS: Record<string, () => Promise<Program>> = {
  // The source of the library. Elsewhere it is a package and needs no condition.
  'own-table': async () => ({
    command: process.execPath,
    args: ['--conditions=plant-store-source', path('own-table', 'main.ts')],
  }),
  python: () => python('python'),
  'python-table': () => python('python-table'),
  java: () => java('java', 'Main'),
  'java-streams': () => java('java-streams', 'Main'),
  connect: () => connect('connect', 'file-sink.properties'),
  'connect-jdbc': () => connect('connect-jdbc', 'jdbc-sink.properties'),
}

/** The environment variables without a default. Kafka Connect would take their names in its properties for values. */
const REQUIRED_SETTINGS: Record<string, string[]> = {
  connect: ['PLANTS_FILE'],
  'connect-jdbc': ['JDBC_URL', 'JDBC_USER', 'JDBC_PASSWORD'],
}

const path = (...names: string[]) => join(import.meta.dirname, ...names)

if (import.meta.main) await runProgram(main)

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

/** The settings of the topics to read: each is set, and the table is a name. */
export function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const run = env.KAFKA_BROKERS ? undefined : readRun(localDirOf(env))
  if (run?.storeSettings.plantctl.KAFKA_SECURITY_PROTOCOL !== undefined)
    throw new Failure('The running npm start has a Kafka with logins: set KAFKA_BROKERS and the settings of a login.')
  const KAFKA_BROKERS = env.KAFKA_BROKERS || (run?.storeSettings.plantctl.KAFKA_BROKERS ?? 'localhost:19092')
  const PLANTS_TOPIC = env.PLANTS_TOPIC || (run?.topic ?? 'plants')
  const table = env.PLANTS_TABLE || (run?.table ?? 'on')
  const PLANTS_TABLE = ['on', 'off'].includes(table) ? `${PLANTS_TOPIC}.table` : table
  return { ...env, KAFKA_BROKERS, PLANTS_TOPIC, PLANTS_TABLE }
}

async function python(name: string): Promise<Program> {
  const commands = await installPython(`examples/${name}`, path(name, 'requirements.txt'))
  return { command: join(commands, 'python'), args: ['-B', path(name, 'main.py')] }
}

function connect(name: string, sink: string): Promise<Program> {
  const main = 'org.apache.kafka.connect.cli.ConnectStandalone'
  return java(name, main, path(name, 'worker.properties'), path(name, sink))
}

async function java(name: string, ...main: string[]): Promise<Program> {
  const { java: command } = await findJava().catch((error) => {
    throw new Failure('The example needs Java: install a JDK, 17 or newer.', { cause: error })
  })
  const pom = path(name, 'pom.xml')
  const files = globSync('src/**/*.*', { cwd: path(name) }).sort()
  const sources = [pom, ...files.map((file) => path(name, file))]
  const built = await builtOnce(`examples/${name}`, sources, { timeoutMs: BUILD_TIMEOUT_MS }, async (folder, run) => {
    const advice = `Install Maven, the ${name} example is built with it.`
    const args = ['-B', '-q', '-f', pom, 'process-classes', `-Dtarget=${folder}`]
    await run('mvn', args, { env: javaEnvironment(), advice })
  })
  const classpath = [join(built, 'classes'), join(built, 'lib', '*')].join(delimiter)
  const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'
  return { command, env: javaEnvironment(), args: [...JAVA_LANGUAGE, logging, '-cp', classpath, ...main] }
}
