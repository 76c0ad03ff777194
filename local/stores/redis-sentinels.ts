import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../processes/port.ts'
import { type RunningProcess, type StartOptions, startUntilReady } from '../processes/process.ts'
import type { Trusted } from './certificates.ts'
import { answersPing, startRedis, writeConfig } from './redis.ts'

export type RunningServer = RunningProcess & {
  port: number
  /** For clients and for servers and sentinels among each other: the plain port, unless they use TLS. */
  peerPort: number
  /** Starts a server that has ended again, on its ports. */
  start(signal?: AbortSignal): Promise<RunningProcess>
}

type SentinelOptions = StartOptions & {
  /** Belongs to these servers alone; made when missing. */
  dir: string
  redisServer: string
  /** The folder of their logs; `dir` unless given. */
  logDir?: string
  /** Called for each port; by default a free one. */
  nextPort?(): number | Promise<number>
  /** All of them connect to each other, and clients to them, by TLS. */
  tls?: Trusted | undefined
  appendOnly?: boolean
  downAfterMs?: number
  /**
   * The port at which clients, sentinels and the other servers reach a server that listens on this one, when there is a
   * proxy between them.
   */
  reachedAt?(name: string, port: number): Promise<number>
}

const MASTER = 'plants'
const REPLICAS = [2, 3]
const SENTINELS = [1, 2, 3]
const QUORUM = 2

/**
 * A master, two replicas and three sentinels, which make a replica the master when it does not respond for downAfterMs.
 * Resolves to the name of the master at the sentinels, their addresses separated by commas, and the processes; the
 * master is the first server.
 */
export async function startSentinels(all: SentinelOptions) {
  const { downAfterMs = 1_000, appendOnly = false, tls, ...options } = all
  const { dir, logDir = dir, nextPort = freePort, reachedAt = async (_, port) => port } = options
  async function startServer(n: number, more: Record<string, string | string[]>): Promise<RunningServer> {
    const [name, port] = [`redis-${n}`, await nextPort()]
    const { settings: listen, peerPort: own } = await listenFor(port, tls)
    const peerPort = await reachedAt(name, own)
    const settings = { ...listen, 'replica-announce-ip': '127.0.0.1', 'replica-announce-port': String(peerPort) }
    const configFile = join(dir, name, 'redis.conf')
    // The file of an earlier start has its ports.
    rmSync(configFile, { force: true })
    const places = { name, port, configFile, dir: join(dir, name), logFile: join(logDir, `${name}.log`) }
    const start = (signal?: AbortSignal) =>
      startRedis({ ...options, ...places, appendOnly, more: { ...settings, ...more }, signal })
    return { ...(await start(options.signal)), peerPort, start }
  }
  const master = await startServer(1, {})
  const follow = { replicaof: ['127.0.0.1', String(master.peerPort)], 'repl-diskless-sync-delay': '0' }
  const servers = [master, ...(await Promise.all(REPLICAS.map((n) => startServer(n, follow))))]
  const config = [
    ['sentinel', 'monitor', MASTER, '127.0.0.1', String(master.peerPort), String(QUORUM)],
    ['sentinel', 'down-after-milliseconds', MASTER, String(downAfterMs)],
    ['sentinel', 'failover-timeout', MASTER, String(downAfterMs * 5)],
  ]
  const sentinels = await Promise.all(SENTINELS.map((n) => startSentinel(`sentinel-${n}`, config, all)))
  const addresses = sentinels.map(({ peerPort }) => `127.0.0.1:${peerPort}`).join(',')
  return { name: MASTER, addresses, servers, sentinels }
}

/** The port for peers of a server with this plain port, and the settings of its TLS. */
async function listenFor(port: number, tls?: Trusted): Promise<{ peerPort: number; settings: Record<string, string> }> {
  const peerPort = tls ? await freePort() : port
  return { peerPort, settings: tls ? tlsAt(peerPort, tls) : {} }
}

/** The settings with which a server uses TLS at this port, and with other servers. */
export const tlsAt = (port: number, { cert, key, ca }: Trusted) => ({
  ...{ 'tls-port': String(port), 'tls-replication': 'yes' },
  ...{ 'tls-cert-file': cert, 'tls-key-file': key, 'tls-ca-cert-file': ca },
})

async function startSentinel(name: string, config: string[][], options: SentinelOptions): Promise<RunningServer> {
  const { dir, logDir = dir, redisServer, nextPort = freePort } = options
  const port = await nextPort()
  const { settings, peerPort } = await listenFor(port, options.tls)
  const own = join(dir, name)
  mkdirSync(own, { recursive: true })
  // A sentinel writes what it learns into its configuration file.
  const file = join(own, 'sentinel.conf')
  const listening = { port: String(port), bind: '127.0.0.1', dir: own, ...settings }
  writeConfig(file, [...Object.entries(listening), ...config])
  const logFile = join(logDir, `${name}.log`)
  const program = { name, command: redisServer, args: [file, '--sentinel'], logFile, ports: [port] }
  const start = (signal?: AbortSignal) => startUntilReady(program, () => answersPing(port), { ...options, signal })
  return { ...(await start(options.signal)), port, peerPort, start }
}
