import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CommandOptions, endOf, runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { freePort } from '../processes/port.ts'
import { type RunningProcess, type StartOptions, startUntilReady } from '../processes/process.ts'
import { JAVA_LANGUAGE, javaEnvironment } from './java.ts'
import { answers } from './redis.ts'

/** For a broker under load for minutes. The serial collector keeps the process at about 300 MB. */
export const javaArgsForLoad = ['-Xmx256m', '-XX:+UseSerialGC']

/** For development and tests: with the first of its compilers alone a broker starts with half of the CPU. */
export const defaultJavaArgs = [...javaArgsForLoad, '-XX:TieredStopAtLevel=1']

const FORMAT_TIMEOUT_MS = 120_000
const ARCHIVE_GRACE_MS = 60_000

export type NodeOptions = StartOptions & {
  name: string
  /** Belongs to this node alone; made when missing. */
  dir: string
  /** The class path of the Kafka jars. */
  classpath: string
  logFile: string
  /** By their names in server.properties. */
  settings: Record<string, string | number | boolean>
  isReady(): Promise<boolean>
  java?: string
  javaArgs?: string[]
  /** The same for all nodes of a cluster; a new one unless given. */
  clusterId?: string
  /** More arguments for the format of an empty dir. */
  formatArgs?: string[]
}

type SingleOptions = Omit<NodeOptions, 'name' | 'settings' | 'isReady'> & { port?: number; controllerPort?: number }

/**
 * A real Kafka: one KRaft node, broker and controller in one process, reachable from this machine only. Its ports are
 * free ones unless given. The data stays in dir and is used again by the next start there, also after a kill -9.
 */
export async function startKafka(options: SingleOptions): Promise<RunningProcess & { brokers: string; port: number }> {
  const { port = await freePort(), controllerPort = await freePort(), ...others } = options
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
  const running = await startNode({ ...others, name: 'kafka', settings, isReady: () => answersKafka(port) })
  return { ...running, port, brokers: `127.0.0.1:${port}` }
}

/** Starts a KRaft node that is broker and controller, and resolves when it is ready. */
export async function startNode(options: NodeOptions): Promise<RunningProcess> {
  const { name, dir, classpath, logFile, settings, java = 'java', javaArgs = defaultJavaArgs } = options
  const { clusterId = newClusterId(), formatArgs = [] } = options
  const config = writeConfig(dir, settings)
  const logging = `-Dlog4j2.configurationFile=${fileURLToPath(new URL('log4j2.properties', import.meta.url))}`
  const archive = archiveOf(classpath)
  const loading = existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`] : []
  const jvm = [...JAVA_LANGUAGE, logging, ...loading, ...javaArgs, '-cp', classpath]
  const env = javaEnvironment()
  // The tool writes meta.properties last, so a format that was interrupted is not taken for a finished one.
  if (!existsSync(join(dir, DATA, 'meta.properties'))) {
    // With an equals sign, because a cluster id may start with a dash and would be taken for an option.
    const given = [`--cluster-id=${clusterId}`, '--config', config, ...formatArgs]
    const tool = [...jvm, 'kafka.tools.StorageTool', 'format', ...given]
    await format(java, tool, dir, { env, cwd: dir, signal: options.signal, timeoutMs: FORMAT_TIMEOUT_MS })
  }
  const ports = [...String(settings.listeners).matchAll(/:(\d+)(?=,|$)/g)].map(([, port]) => Number(port))
  const args = [...jvm, 'kafka.Kafka', config]
  return startUntilReady({ name, command: java, args, env, cwd: dir, logFile, ports }, options.isReady, options)
}

/**
 * Starts a broker once and archives the classes it loaded: a start from the archive takes half of the time and CPU.
 * Throws a Failure when the broker does not start or end.
 */
export async function archiveClasses(options: Omit<SingleOptions, 'logFile'>): Promise<void> {
  const javaArgs = [...defaultJavaArgs, `-XX:ArchiveClassesAtExit=${archiveOf(options.classpath)}`]
  const kafka = await startKafka({ ...options, javaArgs, logFile: join(options.dir, 'kafka.log') })
  const { signal } = await kafka.stop({ graceMs: ARCHIVE_GRACE_MS })
  if (signal === 'SIGKILL') throw new Failure(`Kafka did not end within ${ARCHIVE_GRACE_MS / 1000} s.`)
  rmSync(options.dir, { recursive: true })
}

const archiveOf = (classpath: string) => `${dirname(classpath)}.jsa`

export const newClusterId = () => Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url')

/** True if the broker has started. It replies to nothing before, and Docker opens the port earlier. */
export function answersKafka(port: number, open: (to: { port: number; host: string }) => Socket = connect) {
  // ApiVersions (18), version 0, correlation id 7, no client id; the reply starts with its length and that id.
  const request = Buffer.from('0000000a' + '0012' + '0000' + '00000007' + 'ffff', 'hex')
  return answers(open({ port, host: '127.0.0.1' }), request, (answer) =>
    answer.subarray(4, 8).equals(request.subarray(8, 12)),
  )
}

/** Relative to the folder of the node: Kafka takes a comma in a path for the end of it. */
const DATA = 'data'

/** Its arguments are in a file, because they may have passwords, and every user can read the arguments of a process. */
async function format(java: string, args: string[], dir: string, options: CommandOptions): Promise<void> {
  const file = join(dir, 'format.args')
  const quoted = args.map((arg) => `"${arg.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"\n`)
  writeFileSync(file, quoted.join(''), { mode: 0o600 })
  const { code, output, missing } = await runCommand(java, [`@${file}`], options).finally(() => rmSync(file))
  if (missing) throw new Failure(`kafka could not be started: ${java} not found. Install Java 17 or newer.`)
  if (code !== 0) throw new Failure(`Kafka's data directory could not be formatted:\n${endOf(output)}`)
}

function writeConfig(dir: string, settings: NodeOptions['settings']): string {
  mkdirSync(dir, { recursive: true })
  const file = join(dir, 'server.properties')
  const all = {
    'process.roles': 'broker,controller',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': DATA,
    'auto.create.topics.enable': false,
    ...settings,
  }
  const text = Object.entries(all).map(([key, value]) => `${key}=${value}\n`)
  // Java reads such files as Latin-1 with escapes.
  const escaped = text
    .join('')
    .replaceAll('\\', '\\\\')
    .replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  writeFileSync(file, escaped)
  return file
}

/** Settings of the nodes on a developer's machine: each record on all of them, of which up to two must have it. */
export const nodeSettings = (nodes: number) => ({
  'offsets.topic.num.partitions': 4,
  'transaction.state.log.num.partitions': 4,
  'share.coordinator.state.topic.num.partitions': 4,
  'default.replication.factor': nodes,
  'min.insync.replicas': Math.min(2, nodes),
  'offsets.topic.replication.factor': nodes,
  'transaction.state.log.replication.factor': nodes,
  'transaction.state.log.min.isr': Math.min(2, nodes),
  'share.coordinator.state.topic.replication.factor': nodes,
  'share.coordinator.state.topic.min.isr': Math.min(2, nodes),
  // A consumer group of one gets its partitions at once.
  'group.initial.rebalance.delay.ms': 0,
  // After a kill -9 the next start, or the next leader, waits for the old session to end: 9 s by default.
  'broker.session.timeout.ms': 3000,
  'broker.heartbeat.interval.ms': 500,
  // The default buffer of the log cleaner would take 128 MB, half of the heap.
  'log.cleaner.dedupe.buffer.size': 8 * 1024 * 1024,
})

export const singleNode = nodeSettings(1)
