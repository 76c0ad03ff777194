import { execFile } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { startProcess, untilReady } from '../../local/processes/process.mjs'
import { findBinaries, type PostgresBinaries } from './binaries.ts'
import { type Unprivileged, unprivileged } from './unprivileged.ts'

export type PostgresServer = {
  /** Of its Unix socket, which costs less than TCP. Only the server's own user and root can connect. */
  url: string
  /** Of the postmaster. Its children serve the connections. */
  pid: number
  /** Ends it and removes its data. */
  stop(): Promise<void>
}

const INIT_TIMEOUT_MS = 60_000
const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 5_000
export const MAX_CONNECTIONS = 100
/** Of the Unix socket's name. */
const DEFAULT_PORT = 5432

/** All other settings have the defaults of PostgreSQL. */
const SETTINGS = { shared_buffers: '256MB', max_connections: String(MAX_CONNECTIONS), listen_addresses: '' }
/** Acknowledged rows are in memory only: a crash of the machine loses them, and may corrupt the database. */
const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/**
 * Starts an empty PostgreSQL, with a `port` also on 127.0.0.1. It ends with this process, unless that is killed with
 * SIGKILL.
 */
export async function startPostgres({ fsync, port }: { fsync: boolean; port?: number }): Promise<PostgresServer> {
  const user = unprivileged()
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-postgres-'))
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid)
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  process.once('exit', remove)
  try {
    const binaries = await findBinaries(folder, user)
    const data = join(folder, 'data')
    await initialize(binaries, data, user)
    const url = urlOf(folder, port)
    const tcp = port === undefined ? {} : { listen_addresses: '127.0.0.1', port: String(port) }
    const settings = { ...SETTINGS, ...(fsync ? {} : NOT_DURABLE), unix_socket_directories: folder, ...tcp }
    const { pid, stop } = await start(binaries, { folder, data, settings, user, url })
    return {
      ...{ url, pid },
      async stop() {
        await stop()
        remove()
        process.off('exit', remove)
      },
    }
  } catch (error) {
    remove()
    process.off('exit', remove)
    throw error
  }
}

async function initialize({ initdb }: PostgresBinaries, data: string, user: Unprivileged): Promise<void> {
  const args = [`--pgdata=${data}`, '--username=postgres', '--auth=trust', '--no-locale', '--encoding=UTF8']
  // Any user can use this working directory.
  const options = { ...user, cwd: '/', timeout: INIT_TIMEOUT_MS }
  await promisify(execFile)(initdb, [...args, '--no-sync', '--no-instructions'], options)
}

type Start = { folder: string; data: string; settings: Record<string, string>; user: Unprivileged; url: string }

async function start({ postgres }: PostgresBinaries, { folder, data, settings, user, url }: Start) {
  const args = ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const logFile = join(folder, 'postgres.log')
  const running = await startProcess({ name: 'postgres', command: postgres, args, cwd: '/', logFile, user })
  // An immediate shutdown, without a last checkpoint: nobody reads the data again. The children end by themselves.
  const end = () => void process.kill(running.pid, 'SIGQUIT')
  const endAtExit = () => {
    end()
    untilGone(join(data, 'postmaster.pid'))
  }
  process.prependOnceListener('exit', endAtExit)
  void running.exited.then(() => process.off('exit', endAtExit))
  const isReady = () => answers(url)
  await untilReady(running, { isReady, startTimeoutMs: START_TIMEOUT_MS })
  return {
    pid: running.pid,
    async stop(): Promise<void> {
      end()
      await running.exited
    },
  }
}

/** Waits until this file is removed. PostgreSQL removes it last: before, it still writes to the folder. */
function untilGone(file: string): void {
  const pause = new Int32Array(new SharedArrayBuffer(4))
  const deadline = Date.now() + STOP_TIMEOUT_MS
  while (existsSync(file) && Date.now() < deadline) Atomics.wait(pause, 0, 0, 10)
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url })
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end()
  }
}

const urlOf = (folder: string, port = DEFAULT_PORT) =>
  `postgresql://postgres@${encodeURIComponent(folder)}:${port}/postgres`
