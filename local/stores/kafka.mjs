import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { freePort } from '../processes/port.mjs'
import { startProcess, untilReady } from '../processes/process.mjs'
import { answers } from './answers.mjs'

/** @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess */

/** Enough for development and tests; the serial collector keeps the process at about 300 MB. */
export const defaultJavaArgs = ['-Xmx256m', '-XX:+UseSerialGC']

/**
 * A real Kafka: one KRaft node, broker and controller in one process, reachable from this machine only.
 *
 * The data stays in dir and is used again by the next start there, also after a kill -9. Resolves when the
 * broker serves requests: about 3.5 s on an empty dir, 2.5 s on its own data, 5 s after a kill -9 (the
 * controller first waits until the session of the broker that died has run out).
 *
 * @param {object} options
 * @param {string} options.dir belongs to this node alone; made when missing
 * @param {string} options.classpath of the Kafka jars
 * @param {string} options.logFile
 * @param {number} [options.port] of the broker; default: a free one
 * @param {string} [options.java]
 * @param {string[]} [options.javaArgs]
 * @param {string[]} [options.moreListeners] beside the one without authentication, as Kafka writes them
 * @param {Record<string, string>} [options.moreSettings]
 * @param {number} [options.startTimeoutMs]
 * @param {AbortSignal} [options.signal] ends the start
 * @param {(running: RunningProcess) => void} [options.onSpawn] called when the process has started, before it is ready
 * @returns {Promise<RunningProcess & { brokers: string, port: number }>}
 */
export async function startKafka(options) {
  const { dir, classpath, logFile, java = 'java', javaArgs = defaultJavaArgs, signal, onSpawn } = options
  const { startTimeoutMs = 60_000, port = await freePort() } = options
  const { moreListeners = [], moreSettings = {} } = options
  const brokerListeners = [`PLAINTEXT://127.0.0.1:${port}`, ...moreListeners].join(',')
  const config = writeConfig(dir, brokerListeners, await freePort(), moreSettings)
  const logging = `-Dlog4j2.configurationFile=${fileURLToPath(new URL('log4j2.properties', import.meta.url))}`
  const jvm = [logging, ...javaArgs, '-cp', classpath]
  if (!isFormatted(dir)) await format({ java, jvm, config, signal, timeoutMs: startTimeoutMs })

  const args = [...jvm, 'kafka.Kafka', config]
  const running = await startProcess({ name: 'kafka', command: java, args, logFile })
  onSpawn?.(running)
  await untilReady(running, { isReady: () => answersKafka(port), startTimeoutMs, signal })
  return { ...running, port, brokers: `127.0.0.1:${port}` }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>} whether the broker has started; it replies to nothing before
 */
export function answersKafka(port) {
  // ApiVersions (18), version 0, correlation id 7, no client id; the reply starts with its length and that id.
  const request = Buffer.from('0000000a' + '0012' + '0000' + '00000007' + 'ffff', 'hex')
  return answers(port, request, (answer) => answer.subarray(4, 8).equals(request.subarray(8, 12)))
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
 * @typedef {{ java: string, jvm: string[], config: string, timeoutMs: number }} FormatOptions
 *
 * @param {FormatOptions & { signal: AbortSignal | undefined }} options
 */
async function format({ java, jvm, config, signal, timeoutMs }) {
  const clusterId = Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url')
  // With an equals sign, because a cluster id may start with a dash and would be taken for an option.
  const args = [...jvm, 'kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, '--config', config]
  const { code, output, missing } = await runCommand(java, args, { signal, timeoutMs })
  if (missing) throw new Failure(`kafka could not be started: ${java} not found. Install Java 17 or newer.`)
  if (code !== 0) throw new Failure(`Kafka's data directory could not be formatted:\n${endOf(output)}`)
}

/**
 * The voters are static (not `--standalone`, which would store the controller's port in the data): this way
 * both ports may differ from one start to the next.
 *
 * @param {string} dir
 * @param {string} brokerListeners
 * @param {number} controllerPort
 * @param {Record<string, string>} moreSettings
 */
function writeConfig(dir, brokerListeners, controllerPort, moreSettings) {
  mkdirSync(dir, { recursive: true })
  const file = join(dir, 'server.properties')
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `${brokerListeners},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': brokerListeners,
    'listener.security.protocol.map':
      'PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': dataDir(dir),
    'auto.create.topics.enable': false,
    ...singleNode,
    ...moreSettings,
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`)
  writeFileSync(file, lines.join(''))
  return file
}

/** What a single node needs to be set to otherwise than the defaults, which are for clusters. */
export const singleNode = {
  'offsets.topic.num.partitions': 4,
  'offsets.topic.replication.factor': 1,
  'transaction.state.log.num.partitions': 4,
  'transaction.state.log.replication.factor': 1,
  'transaction.state.log.min.isr': 1,
  'share.coordinator.state.topic.num.partitions': 4,
  'share.coordinator.state.topic.replication.factor': 1,
  'share.coordinator.state.topic.min.isr': 1,
  // A consumer group of one gets its partitions at once.
  'group.initial.rebalance.delay.ms': 0,
  // After a kill -9 the next start waits for the old session to end: 9 s by default.
  'broker.session.timeout.ms': 3000,
  'broker.heartbeat.interval.ms': 500,
  // The default buffer of the log cleaner would take 128 MB, half of the heap.
  'log.cleaner.dedupe.buffer.size': 8 * 1024 * 1024,
}
