import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../processes/port.mjs'
import { startProcess, untilReady } from '../processes/process.mjs'
import { answersPing, startRedis } from './redis.mjs'

/** @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess */
/** @typedef {RunningProcess & { port: number }} RunningServer */

const name = 'plants'
const sentinelCount = 3
const quorum = 2

/**
 * A master, its replicas and three sentinels, which make a replica the master when it does not respond for downAfterMs.
 *
 * @param {object} options
 * @param {string} options.dir belongs to these servers alone; made when missing
 * @param {string} options.redisServer the program
 * @param {number} [options.replicas]
 * @param {number} [options.downAfterMs]
 * @param {AbortSignal} [options.signal] ends the start
 * @param {(running: RunningProcess) => void} [options.onSpawn] called for each process, before it is ready
 * @returns {Promise<{ name: string, addresses: string, servers: RunningServer[], sentinels: RunningServer[] }>} the name
 *   of the master at the sentinels, their addresses separated by commas, and the processes; the master is the first server
 */
export async function startSentinels({ dir, redisServer, replicas = 2, downAfterMs = 1_000, signal, onSpawn }) {
  const common = { redisServer, ...(signal && { signal }), ...(onSpawn && { onSpawn }) }
  /** @param {string} part @param {Record<string, string | string[]>} more */
  const start = (part, more) => startRedis({ ...common, dir: join(dir, part), logFile: join(dir, `${part}.log`), more })
  const master = await start('master', {})
  const follow = { replicaof: ['127.0.0.1', String(master.port)], 'repl-diskless-sync-delay': '0' }
  const others = Array.from({ length: replicas }, (_, n) => start(`replica-${n}`, follow))
  const servers = [master, ...(await Promise.all(others))]
  const config = [
    `sentinel monitor ${name} 127.0.0.1 ${master.port} ${quorum}`,
    `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
    `sentinel failover-timeout ${name} ${downAfterMs * 5}`,
  ]
  const sentinels = await Promise.all(
    Array.from({ length: sentinelCount }, (_, n) =>
      startSentinel({ ...common, dir: join(dir, `sentinel-${n}`), config }),
    ),
  )
  return { name, addresses: sentinels.map(({ port }) => `127.0.0.1:${port}`).join(','), servers, sentinels }
}

/**
 * @param {object} options
 * @param {string} options.dir
 * @param {string} options.redisServer
 * @param {string[]} options.config
 * @param {AbortSignal} [options.signal]
 * @param {(running: RunningProcess) => void} [options.onSpawn]
 * @returns {Promise<RunningServer>}
 */
async function startSentinel({ dir, redisServer, config, signal, onSpawn }) {
  const port = await freePort()
  mkdirSync(dir, { recursive: true })
  // A sentinel writes what it learns into its configuration file.
  const file = join(dir, 'sentinel.conf')
  writeFileSync(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${dir}`, ...config, ''].join('\n'))
  const args = [file, '--sentinel']
  const running = await startProcess({ name: 'sentinel', command: redisServer, args, logFile: `${dir}.log` })
  onSpawn?.(running)
  await untilReady(running, { isReady: () => answersPing(port), startTimeoutMs: 30_000, signal })
  return { ...running, port }
}
