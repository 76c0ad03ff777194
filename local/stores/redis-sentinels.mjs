import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../processes/port.mjs'
import { startProcess, untilReady } from '../processes/process.mjs'
import { answersPing, startRedis } from './redis.mjs'

/** @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess */
/**
 * `start` starts a server that has ended again, on its port.
 * @typedef {RunningProcess & { port: number, start: (signal?: AbortSignal) => Promise<RunningProcess> }} RunningServer
 *
 * @typedef {object} ServerOptions
 * @property {string} dir belongs to these servers alone; made when missing
 * @property {string} redisServer the program
 * @property {string} [logDir] of their logs; `dir` unless given
 * @property {number} [startTimeoutMs]
 * @property {AbortSignal} [signal] ends the start
 * @property {(running: RunningProcess) => void} [onSpawn] called for each process, before it is ready
 */

const masterName = 'plants'
const sentinelCount = 3
const quorum = 2

/**
 * A master, its replicas and three sentinels, which make a replica the master when it does not respond for downAfterMs.
 *
 * @param {ServerOptions & { replicas?: number, appendOnly?: boolean, downAfterMs?: number }} options
 * @returns {Promise<{ name: string, addresses: string, servers: RunningServer[], sentinels: RunningServer[] }>} the name
 *   of the master at the sentinels, their addresses separated by commas, and the processes; the master is the first server
 */
export async function startSentinels({ replicas = 2, downAfterMs = 1_000, appendOnly = false, ...options }) {
  const { dir, logDir = dir } = options
  /** @param {number} n @param {Record<string, string | string[]>} more */
  const startServer = async (n, more) => {
    const [name, port] = [`redis-${n}`, await freePort()]
    const places = { name, port, dir: join(dir, name), logFile: join(logDir, `${name}.log`) }
    const start = (/** @type {AbortSignal | undefined} */ signal) =>
      startRedis({ ...options, ...places, appendOnly, more, ...(signal && { signal }) })
    return { ...(await start(options.signal)), start }
  }
  const master = await startServer(1, {})
  const follow = { replicaof: ['127.0.0.1', String(master.port)], 'repl-diskless-sync-delay': '0' }
  const others = Array.from({ length: replicas }, (_, n) => startServer(n + 2, follow))
  const servers = [master, ...(await Promise.all(others))]
  const config = [
    `sentinel monitor ${masterName} 127.0.0.1 ${master.port} ${quorum}`,
    `sentinel down-after-milliseconds ${masterName} ${downAfterMs}`,
    `sentinel failover-timeout ${masterName} ${downAfterMs * 5}`,
  ]
  const sentinels = await Promise.all(
    Array.from({ length: sentinelCount }, (_, n) => startSentinel(`sentinel-${n + 1}`, config, options)),
  )
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
  return { name: masterName, addresses, servers, sentinels }
}

/**
 * @param {string} name
 * @param {string[]} config
 * @param {ServerOptions} options
 * @returns {Promise<RunningServer>}
 */
async function startSentinel(name, config, { dir, logDir = dir, redisServer, startTimeoutMs = 30_000, ...options }) {
  const port = await freePort()
  const own = join(dir, name)
  mkdirSync(own, { recursive: true })
  // A sentinel writes what it learns into its configuration file.
  const file = join(own, 'sentinel.conf')
  writeFileSync(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${own}`, ...config, ''].join('\n'))
  const program = { name, command: redisServer, args: [file, '--sentinel'], logFile: join(logDir, `${name}.log`) }
  const start = async (/** @type {AbortSignal | undefined} */ signal) => {
    const running = await startProcess(program)
    options.onSpawn?.(running)
    await untilReady(running, { isReady: () => answersPing(port), startTimeoutMs, signal })
    return running
  }
  return { ...(await start(options.signal)), port, start }
}
