import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { freePort } from '../processes/port.mjs'
import { startProcess, untilReady } from '../processes/process.mjs'
import { answers } from './answers.mjs'

/** @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess */

/**
 * A real Redis, reachable from this machine only. Resolves when it responds to PING, that is, when its data are
 * loaded: about 0.1 s on an empty dir.
 *
 * @param {object} options
 * @param {string} options.dir belongs to this server alone; made when missing
 * @param {string} options.redisServer the program
 * @param {string} options.logFile
 * @param {string} [options.name]
 * @param {number} [options.port] default: a free one
 * @param {boolean} [options.appendOnly] keeps the data in dir (at most 1 s of writes is lost by a crash of
 *   the machine); without it they end with the process
 * @param {Record<string, string | string[]>} [options.more] further settings, by their names in redis.conf
 * @param {string} [options.configFile] written when missing. The server starts from it, and keeps in it what sentinels
 *   make of it: without it, a replica that has become the master would start as a replica again
 * @param {number} [options.startTimeoutMs]
 * @param {AbortSignal} [options.signal] ends the start
 * @param {(running: RunningProcess) => void} [options.onSpawn] called when the process has started, before it is ready
 * @returns {Promise<RunningProcess & { url: string, port: number }>}
 */
export async function startRedis(options) {
  const { dir, redisServer, logFile, appendOnly = false, startTimeoutMs = 30_000, signal, more } = options
  const { name = 'redis', port = await freePort(), configFile, onSpawn } = options
  mkdirSync(dir, { recursive: true })
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir,
    appendonly: appendOnly ? 'yes' : 'no',
    appendfsync: 'everysec',
    save: '',
    // The read model must never lose keys silently: at its memory limit Redis refuses writes instead.
    'maxmemory-policy': 'noeviction',
    ...more,
  }
  const words = Object.entries(settings).map(([setting, value]) => [setting, ...[value].flat()])
  if (configFile !== undefined && !existsSync(configFile)) writeConfig(configFile, words)
  const args =
    configFile === undefined ? words.flatMap(([setting, ...values]) => [`--${setting}`, ...values]) : [configFile]
  const running = await startProcess({ name, command: redisServer, args, logFile })
  onSpawn?.(running)
  await untilReady(running, { isReady: () => answersPing(port), startTimeoutMs, signal })
  return { ...running, port, url: `redis://127.0.0.1:${port}` }
}

/**
 * @param {string} file of the form of redis.conf
 * @param {string[][]} words of each line: a setting and its values
 */
export function writeConfig(file, words) {
  const lines = words.map(([setting, ...values]) => [setting, ...values.map((value) => `"${value}"`)].join(' '))
  writeFileSync(file, `${lines.join('\n')}\n`)
}

/**
 * @param {number} port
 * @returns {Promise<boolean>} false also while Redis still loads its data (it then replies -LOADING)
 */
export function answersPing(port) {
  const socket = connect({ port, host: '127.0.0.1' })
  return answers(socket, Buffer.from('PING\r\n'), (answer) => answer.toString().startsWith('+PONG'))
}
