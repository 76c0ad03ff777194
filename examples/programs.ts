import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { Failure } from '../local/processes/failure.mjs'
import { findJava, JAVA_LANGUAGE, javaEnvironment } from '../local/stores/java.ts'
import { builtOnce } from '../local/toolchain/built-once.ts'
import { installPython } from '../local/toolchain/python.ts'

// The command that runs each example. Downloads and compiled files go into a folder below .local, named by a digest of
// their sources.

const BUILD_TIMEOUT_MS = 300_000

type Program = { command: string; args: string[]; env?: NodeJS.ProcessEnv }

/** Each throws a Failure that says what to install. */
export const PROGRAMS: Record<string, () => Promise<Program>> = {
  'search-index': async () => typescript('search-index'),
  'own-table': async () => typescript('own-table'),
  python: () => python('python'),
  'python-table': () => python('python-table'),
  java: () => java('java', 'Main'),
  'java-streams': () => java('java-streams', 'Main'),
  connect: () => connect('connect', 'file-sink.properties'),
  'connect-jdbc': () => connect('connect-jdbc', 'jdbc-sink.properties'),
}

/** The environment variables without a default. Kafka Connect would take their names in its properties for values. */
export const REQUIRED_SETTINGS: Record<string, string[]> = {
  connect: ['PLANTS_FILE'],
  'connect-jdbc': ['JDBC_URL', 'JDBC_USER', 'JDBC_PASSWORD'],
}

const path = (...names: string[]) => join(import.meta.dirname, ...names)

/** The examples here use the source of the library. Elsewhere it is a package and needs no condition. */
function typescript(name: string): Program {
  return { command: process.execPath, args: ['--conditions=plant-store-source', path(name, 'main.ts')] }
}

async function python(name: string): Promise<Program> {
  const commands = await installPython(`examples/${name}`, path(name, 'requirements.txt'))
  return { command: join(commands, 'python'), args: ['-B', path(name, 'main.py')] }
}

const connect = (name: string, sink: string) =>
  java(name, 'org.apache.kafka.connect.cli.ConnectStandalone', path(name, 'worker.properties'), path(name, sink))

async function java(name: string, ...main: string[]): Promise<Program> {
  const { java: command } = await findJava().catch((error) => {
    throw new Failure('The example needs Java: install a JDK, 17 or newer.', { cause: error })
  })
  const folder = await buildJava(name)
  const classpath = [join(folder, 'classes'), join(folder, 'lib', '*')].join(delimiter)
  const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'
  return { command, env: javaEnvironment(), args: [...JAVA_LANGUAGE, logging, '-cp', classpath, ...main] }
}

/** Resolves to the folder with the classes and their libraries. */
function buildJava(name: string): Promise<string> {
  const pom = path(name, 'pom.xml')
  const sources = [pom, ...filesIn(path(name, 'src'))]
  return builtOnce(`examples/${name}`, sources, { timeoutMs: BUILD_TIMEOUT_MS }, async (folder, run) => {
    const advice = `Install Maven, the ${name} example is built with it.`
    const args = ['-B', '-q', '-f', pom, 'process-classes', `-Dtarget=${folder}`]
    await run('mvn', args, { env: javaEnvironment(), advice })
  })
}

function filesIn(folder: string): string[] {
  const entries = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : []
  const files = entries.filter((entry) => entry.isFile())
  return files.map((entry) => join(entry.parentPath, entry.name)).sort()
}
