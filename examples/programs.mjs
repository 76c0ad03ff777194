import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheDir } from '../local/places.mjs'
import { endOf, runCommand } from '../local/processes/command.mjs'
import { Failure } from '../local/processes/failure.mjs'
import { withLock } from '../local/processes/lock.mjs'
import { findJava, javaEnvironment, javaLanguage } from '../local/stores/java.mjs'
import { installPython } from '../local/toolchain/python.ts'

// The command that runs each example. Downloads and compiled files go into a folder below .local, named by a digest of
// their sources.

const here = fileURLToPath(new URL('.', import.meta.url))
const BUILD_TIMEOUT_MS = 300_000

/** @typedef {{ command: string, args: string[], env?: NodeJS.ProcessEnv }} Program */

/** @type {Record<string, (signal?: AbortSignal) => Promise<Program>>} */
export const PROGRAMS = {
  'search-index': async () => typescript('search-index'),
  'own-table': async () => typescript('own-table'),
  python: () => python('python'),
  'python-table': () => python('python-table'),
  java: (signal) => java('java', ['Main'], signal),
  'java-streams': (signal) => java('java-streams', ['Main'], signal),
  connect: (signal) => connect('connect', 'file-sink.properties', signal),
  'connect-jdbc': (signal) => connect('connect-jdbc', 'jdbc-sink.properties', signal),
}

/**
 * The examples here use the source of the library. Elsewhere it is a package and needs no condition.
 *
 * @param {string} name
 * @returns {Program}
 */
function typescript(name) {
  const main = join(here, name, 'main.ts')
  return { command: process.execPath, args: ['--conditions=plant-store-source', main] }
}

/**
 * @param {string} name
 * @returns {Promise<Program>}
 * @throws {Failure} that says what to install
 */
async function python(name) {
  const commands = await installPython(`examples/${name}`, join(here, name, 'requirements.txt'))
  return { command: join(commands, 'python'), args: ['-B', join(here, name, 'main.py')] }
}

/**
 * @param {string} name
 * @param {string[]} main the class, and its first arguments
 * @param {AbortSignal} [signal]
 * @returns {Promise<Program>}
 * @throws {Failure} that says what to install
 */
async function java(name, main, signal) {
  const program = await findJava(signal).catch((error) => {
    signal?.throwIfAborted()
    throw new Failure('The example needs Java: install a JDK, 17 or newer.', { cause: error })
  })
  const pom = join(here, name, 'pom.xml')
  const source = join(here, name, 'src')
  const sources = existsSync(source) ? filesIn(source) : []
  const folder = await built(name, [pom, ...sources], signal, (target, run) =>
    run('mvn', '-B', '-q', '-f', pom, 'process-classes', `-Dtarget=${target}`),
  )
  const classpath = [join(folder, 'classes'), join(folder, 'lib', '*')].join(delimiter)
  return {
    command: program,
    env: javaEnvironment(),
    args: [...javaLanguage, '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', classpath, ...main],
  }
}

/**
 * @param {string} name
 * @param {string} sink the file with the sink's properties
 * @param {AbortSignal} [signal]
 */
const connect = (name, sink, signal) =>
  java(
    name,
    ['org.apache.kafka.connect.cli.ConnectStandalone', join(here, name, 'worker.properties'), join(here, name, sink)],
    signal,
  )

/** @param {string} folder */
const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()

/**
 * @param {string} name
 * @param {string[]} sources
 * @param {AbortSignal | undefined} signal
 * @param {(target: string, run: (command: string, ...args: string[]) => Promise<void>) => Promise<void>} build
 * @returns {Promise<string>} the folder
 */
async function built(name, sources, signal, build) {
  const hash = createHash('sha256')
  for (const source of sources) hash.update(readFileSync(source))
  const folder = join(cacheDir, 'examples', `${name}-${hash.digest('hex').slice(0, 12)}`)
  const complete = join(folder, 'complete')
  mkdirSync(dirname(folder), { recursive: true })
  if (existsSync(complete)) return folder
  await withLock(`${folder}.lock`, { waitTimeoutMs: BUILD_TIMEOUT_MS, signal }, async (alsoHeldBy) => {
    if (existsSync(complete)) return
    // Built in place, not renamed afterwards: a virtual environment contains its own path.
    rmSync(folder, { recursive: true, force: true })
    await build(folder, async (command, ...args) => {
      const options = { env: javaEnvironment(), timeoutMs: BUILD_TIMEOUT_MS, signal, onStart: alsoHeldBy }
      const { code, output, missing } = await runCommand(command, args, options)
      if (missing) throw new Failure(`${command} not found: install it, the ${name} example is built with it.`)
      if (code !== 0) throw new Failure(`The ${name} example could not be built: ${command} said\n${endOf(output)}`)
    })
    writeFileSync(complete, '')
  })
  return folder
}
