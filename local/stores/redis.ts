import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { freePort } from '../processes/port.ts'
import { type RunningProcess, type StartOptions, startUntilReady } from '../processes/process.ts'

export type RedisOptions = StartOptions & {
  /** Belongs to this server alone; made when missing. */
  dir: string
  redisServer: string
  logFile: string
  name?: string
  /** A free one unless given. */
  port?: number
  /** Keeps the data in dir (a crash of the machine loses at most 1 s of writes). Else they end with the process. */
  appendOnly?: boolean
  /** Further settings, by their names in redis.conf. */
  more?: Record<string, string | string[]>
  /**
   * Written when missing. The server starts from it, and keeps in it what sentinels make of it: without it, a replica
   * that has become the master would start as a replica again.
   */
  configFile?: string
}

/** A real Redis, reachable from this machine only. Resolves when it responds to PING, when its data are loaded. */
export async function startRedis(options: RedisOptions): Promise<RunningProcess & { url: string; port: number }> {
  const { dir, redisServer, logFile, appendOnly = false, more, configFile } = options
  const { name = 'redis', port = await freePort() } = options
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
  const program = { name, command: redisServer, args, logFile, ports: [port] }
  const running = await startUntilReady(program, () => answersPing(port), options)
  return { ...running, port, url: `redis://127.0.0.1:${port}` }
}

/** Writes a file of the form of redis.conf, by the words of each line: a setting and its values. */
export function writeConfig(file: string, words: readonly string[][]): void {
  const lines = words.map(([setting, ...values]) => [setting, ...values.map((value) => `"${value}"`)].join(' '))
  writeFileSync(file, `${lines.join('\n')}\n`)
}

/**
 * Checks that a server replies to a request as it does when it serves clients. An open port is not enough: Docker opens
 * the port of a container before anything in it listens. False also without a reply within 1 s.
 */
export async function answers(socket: Socket, request: Buffer, isRight: (answer: Buffer) => boolean): Promise<boolean> {
  socket.setTimeout(1000, () => socket.destroy())
  socket.write(request)
  try {
    // The end of the loop destroys the socket.
    for await (const answer of socket) return isRight(answer)
  } catch {
    // It cannot be connected to, or has not replied.
  }
  return false
}

/** False also while Redis still loads its data (it then replies -LOADING). */
export function answersPing(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' })
  return answers(socket, Buffer.from('PING\r\n'), (answer) => answer.toString().startsWith('+PONG'))
}
