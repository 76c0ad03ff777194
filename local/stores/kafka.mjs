import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { freePort } from '../processes/port.mjs'
import { startProcess, untilReady } from '../processes/process.mjs'
import { answers } from './answers.mjs'
import { javaEnvironment, javaLanguage } from './java.mjs'

/** @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess */

/** For a broker under load for minutes. The serial collector keeps the process at about 300 MB. */
export const javaArgsForLoad = ['-Xmx256m', '-XX:+UseSerialGC']

/** For development and tests: with the first of its compilers alone a broker starts with half of the CPU. */
export const defaultJavaArgs = [...javaArgsForLoad, '-XX:TieredStopAtLevel=1']

/**
 * A real Kafka: one KRaft node, broker and controller in one process, reachable from this machine only.
 *
 * The data stays in dir and is used again by the next start there, also after a kill -9. Resolves when the
 * broker serves requests: about 2.5 s on an empty dir, less on its own data, 5 s after a kill -9 (the
 * controller first waits until the session of the broker that died has run out).
 *
 * @param {Omit<NodeOptions, 'name' | 'settings' | 'isReady'> & { port?: number, controllerPort?: number }} options port:
 *   of the broker; default of both: a free one
 * @returns {Promise<RunningProcess & { brokers: string, port: number }>}
 */
export async function startKafka({ port: chosen, controllerPort: chosenToo, ...options }) {
  const [port, controllerPort] = [chosen ?? (await freePort()), chosenToo ?? (await freePort())]
  const listener = `PLAINTEXT://127.0.0.1:${port}`
  const settings = {
    'node.id': 1,
    // Static voters, because `--standalone` would store the controller's port in the data.
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `${listener},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': listener,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    ...singleNode,
  }
  const running = await startNode({ ...options, name: 'kafka', settings, isReady: () => answersKafka(port) })
  return { ...running, port, brokers: `127.0.0.1:${port}` }
}

/**
 * @typedef {object} NodeOptions
 * @property {string} name
 * @property {string} dir belongs to this node alone; made when missing
 * @property {string} classpath of the Kafka jars
 * @property {string} logFile
 * @property {Record<string, string | number | boolean>} settings by their names in server.properties
 * @property {() => Promise<boolean>} isReady
 * @property {string} [java]
 * @property {string[]} [javaArgs]
 * @property {string} [clusterId] the same for all nodes of a cluster; a new one unless given
 * @property {string[]} [formatArgs] more arguments for the format of an empty dir
 * @property {number} [startTimeoutMs]
 * @property {AbortSignal | undefined} [signal] ends the start
 * @property {(running: RunningProcess) => void} [onSpawn] called when the process has started, before it is ready
 *
 * Starts a KRaft node that is broker and controller, and resolves when it is ready.
 *
 * @param {NodeOptions} options
 * @returns {Promise<RunningProcess>}
 */
export async function startNode(options) {
  const { name, dir, classpath, logFile, settings, isReady, signal, onSpawn } = options
  const { java = 'java', javaArgs = defaultJavaArgs, startTimeoutMs = 60_000 } = options
  const { clusterId = newClusterId(), formatArgs = [] } = options
  const config = writeConfig(dir, settings)
  const logging = `-Dlog4j2.configurationFile=${fileURLToPath(new URL('log4j2.properties', import.meta.url))}`
  const jvm = [...javaLanguage, logging, ...javaArgs, '-cp', classpath]
  const env = javaEnvironment()
  if (!isFormatted(dir)) {
    // With an equals sign, because a cluster id may start with a dash and would be taken for an option.
    const args = [`--cluster-id=${clusterId}`, '--config', config, ...formatArgs]
    await format(java, [...jvm, 'kafka.tools.StorageTool', 'format', ...args], dir, {
      ...{ env, signal, timeoutMs: startTimeoutMs },
    })
  }
  const running = await startProcess({ name, command: java, args: [...jvm, 'kafka.Kafka', config], env, logFile })
  onSpawn?.(running)
  await untilReady(running, { isReady, startTimeoutMs, signal })
  return running
}

export const newClusterId = () => Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url')

/**
 * @param {number} port
 * @param {(to: { port: number, host: string }) => import('node:net').Socket} [open]
 * @returns {Promise<boolean>} whether the broker has started; it replies to nothing before, and Docker opens the port
 *   earlier
 */
export function answersKafka(port, open = connect) {
  // ApiVersions (18), version 0, correlation id 7, no client id; the reply starts with its length and that id.
  const request = Buffer.from('0000000a' + '0012' + '0000' + '00000007' + 'ffff', 'hex')
  return answers(open({ port, host: '127.0.0.1' }), request, (answer) =>
    answer.subarray(4, 8).equals(request.subarray(8, 12)),
  )
}

/** @param {string} dir */
const dataDir = (dir) => join(dir, 'data')

/**
 * The tool writes meta.properties last, so a format that was interrupted is not taken for a finished one.
 *
 * @param {string} dir
 */
const isFormatted = (dir) => existsSync(join(dataDir(dir), 'meta.properties'))

/**
 * Its arguments, which may have passwords, are in a file: every user of the machine can read the arguments of a process.
 *
 * @param {string} java
 * @param {string[]} args
 * @param {string} dir
 * @param {{ env: NodeJS.ProcessEnv, signal: AbortSignal | undefined, timeoutMs: number }} options
 */
async function format(java, args, dir, options) {
  const file = join(dir, 'format.args')
  const quoted = args.map((arg) => `"${arg.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"\n`)
  writeFileSync(file, quoted.join(''), { mode: 0o600 })
  const { code, output, missing } = await runCommand(java, [`@${file}`], options).finally(() => rmSync(file))
  if (missing) throw new Failure(`kafka could not be started: ${java} not found. Install Java 17 or newer.`)
  if (code !== 0) throw new Failure(`Kafka's data directory could not be formatted:\n${endOf(output)}`)
}

/**
 * @param {string} dir
 * @param {Record<string, string | number | boolean>} settings
 */
function writeConfig(dir, settings) {
  mkdirSync(dir, { recursive: true })
  const file = join(dir, 'server.properties')
  const all = {
    'process.roles': 'broker,controller',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': dataDir(dir),
    'auto.create.topics.enable': false,
    ...settings,
  }
  const lines = Object.entries(all).map(([key, value]) => `${key}=${value}\n`)
  // Java reads such files as Latin-1 with escapes.
  const escaped = lines
    .join('')
    .replaceAll('\\', '\\\\')
    .replace(/[^\0-\x7f]/g, unicodeEscape)
  writeFileSync(file, escaped)
  return file
}

const unicodeEscape = (/** @type {string} */ unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Settings of every node on a developer's machine that differ from the defaults. */
export const localNode = {
  'offsets.topic.num.partitions': 4,
  'transaction.state.log.num.partitions': 4,
  'share.coordinator.state.topic.num.partitions': 4,
  // A consumer group of one gets its partitions at once.
  'group.initial.rebalance.delay.ms': 0,
  // After a kill -9 the next start, or the next leader, waits for the old session to end: 9 s by default.
  'broker.session.timeout.ms': 3000,
  'broker.heartbeat.interval.ms': 500,
  // The default buffer of the log cleaner would take 128 MB, half of the heap.
  'log.cleaner.dedupe.buffer.size': 8 * 1024 * 1024,
}

/** The settings of a single node: some defaults are for clusters. */
export const singleNode = {
  ...localNode,
  'offsets.topic.replication.factor': 1,
  'transaction.state.log.replication.factor': 1,
  'transaction.state.log.min.isr': 1,
  'share.coordinator.state.topic.replication.factor': 1,
  'share.coordinator.state.topic.min.isr': 1,
}
