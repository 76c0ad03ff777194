import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../processes/port.mjs'
import { startProcess, untilReady } from '../processes/process.mjs'
import { answersPing, startRedis, writeConfig } from './redis.mjs'

/** @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess */
/** @typedef {import('./certificates.mjs').Trusted} Trusted */
/**
 * `peerPort` is for clients and for servers and sentinels among each other: the plain port, unless they use TLS.
 * `start` starts a server that has ended again, on its ports.
 * @typedef {RunningProcess & { port: number, peerPort: number, start: (signal?: AbortSignal) => Promise<RunningProcess> }} RunningServer
 *
 * @typedef {object} ServerOptions
 * @property {string} dir belongs to these servers alone; made when missing
 * @property {string} redisServer the program
 * @property {string} [logDir] of their logs; `dir` unless given
 * @property {number} [startTimeoutMs]
 * @property {AbortSignal} [signal] ends the start
 * @property {(running: RunningProcess) => void} [onSpawn] called for each process, before it is ready
 * @property {() => number | Promise<number>} [nextPort] called for each port; by default a free one
 * @property {Trusted | undefined} [tls] all of them connect to each other, and clients to them, by TLS
 */

const masterName = 'plants'
const sentinelCount = 3
const quorum = 2

/**
 * A master, its replicas and three sentinels, which make a replica the master when it does not respond for downAfterMs.
 *
 * @typedef {object} SentinelOptions
 * @property {number} [replicas]
 * @property {boolean} [appendOnly]
 * @property {number} [downAfterMs]
 * @property {(name: string, port: number) => Promise<number>} [reachedAt] the port at which clients, sentinels and the
 *   other servers reach a server that listens on this one, when there is a proxy between them
 *
 * @param {ServerOptions & SentinelOptions} options
 * @returns {Promise<{ name: string, addresses: string, servers: RunningServer[], sentinels: RunningServer[] }>} the name
 *   of the master at the sentinels, their addresses separated by commas, and the processes; the master is the first server
 */
export async function startSentinels({ replicas = 2, downAfterMs = 1_000, appendOnly = false, tls, ...options }) {
  const { dir, logDir = dir, nextPort = freePort, reachedAt = async (_, port) => port } = options
  /** @param {number} n @param {Record<string, string | string[]>} more */
  const startServer = async (n, more) => {
    const [name, port] = [`redis-${n}`, await nextPort()]
    const { settings: listen, peerPort: own } = await listenFor(port, tls)
    const peerPort = await reachedAt(name, own)
    const settings = { ...listen, 'replica-announce-ip': '127.0.0.1', 'replica-announce-port': String(peerPort) }
    const configFile = join(dir, name, 'redis.conf')
    // The file of an earlier start has its ports.
    rmSync(configFile, { force: true })
    const places = { name, port, configFile, dir: join(dir, name), logFile: join(logDir, `${name}.log`) }
    const start = (/** @type {AbortSignal | undefined} */ signal) =>
      startRedis({ ...options, ...places, appendOnly, more: { ...settings, ...more }, ...(signal && { signal }) })
    return { ...(await start(options.signal)), peerPort, start }
  }
  const master = await startServer(1, {})
  const follow = { replicaof: ['127.0.0.1', String(master.peerPort)], 'repl-diskless-sync-delay': '0' }
  const others = Array.from({ length: replicas }, (_, n) => startServer(n + 2, follow))
  const servers = [master, ...(await Promise.all(others))]
  const config = [
    ['sentinel', 'monitor', masterName, '127.0.0.1', String(master.peerPort), String(quorum)],
    ['sentinel', 'down-after-milliseconds', masterName, String(downAfterMs)],
    ['sentinel', 'failover-timeout', masterName, String(downAfterMs * 5)],
  ]
  const sentinels = await Promise.all(
    Array.from({ length: sentinelCount }, (_, n) => startSentinel(`sentinel-${n + 1}`, config, { ...options, tls })),
  )
  const addresses = sentinels.map(({ peerPort }) => `127.0.0.1:${peerPort}`).join(',')
  return { name: masterName, addresses, servers, sentinels }
}

/**
 * @param {number} port the plain one
 * @param {Trusted} [tls]
 * @returns {Promise<{ peerPort: number, settings: Record<string, string> }>}
 */
async function listenFor(port, tls) {
  if (tls === undefined) return { peerPort: port, settings: {} }
  const peerPort = await freePort()
  const files = { 'tls-cert-file': tls.cert, 'tls-key-file': tls.key, 'tls-ca-cert-file': tls.ca }
  return { peerPort, settings: { 'tls-port': String(peerPort), 'tls-replication': 'yes', ...files } }
}

/**
 * @param {string} name
 * @param {string[][]} config the words of its lines
 * @param {ServerOptions} options
 * @returns {Promise<RunningServer>}
 */
async function startSentinel(name, config, { dir, logDir = dir, redisServer, startTimeoutMs = 30_000, ...options }) {
  const { nextPort = freePort } = options
  const port = await nextPort()
  const { settings, peerPort } = await listenFor(port, options.tls)
  const own = join(dir, name)
  mkdirSync(own, { recursive: true })
  // A sentinel writes what it learns into its configuration file.
  const file = join(own, 'sentinel.conf')
  const listening = { port: String(port), bind: '127.0.0.1', dir: own, ...settings }
  writeConfig(file, [...Object.entries(listening), ...config])
  const program = { name, command: redisServer, args: [file, '--sentinel'], logFile: join(logDir, `${name}.log`) }
  const start = async (/** @type {AbortSignal | undefined} */ signal) => {
    const running = await startProcess(program)
    options.onSpawn?.(running)
    await untilReady(running, { isReady: () => answersPing(port), startTimeoutMs, signal })
    return running
  }
  return { ...(await start(options.signal)), port, peerPort, start }
}
