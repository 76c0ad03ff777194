import { randomUUID } from 'node:crypto'
import { open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'

const TOUCH_EVERY_MS = 5_000
/** A process that was killed leaves its lock behind. */
const ABANDONED_AFTER_MS = 60_000

/** Empty when the process was killed while it wrote it. */
const FORM = /^(?:(?<host>\S+) (?<pid>\d+) [0-9a-f-]{36})?$/

/**
 * Throws when another backup holds the lock, or when another program has a file of its name. A lock that was not
 * touched for a minute is replaced.
 */
export async function lockFolder(folder: string) {
  const file = join(folder, 'lock')
  const own = `${hostname()} ${process.pid} ${randomUUID()}`
  if (!(await isCreated(file, own))) {
    const { groups: { host, pid } = {} } = FORM.exec(await readFile(file, 'utf8')) ?? refuse(folder)
    const { mtimeMs } = await stat(file)
    // A clock that was set back leaves one in the future.
    if (Math.abs(Date.now() - mtimeMs) < ABANDONED_AFTER_MS) {
      const who = pid === undefined ? '' : ` (process ${pid} on ${host})`
      throw new Error(`another backup writes to ${folder}${who}: wait until it has ended`)
    }
    await rm(file, { force: true })
    if (!(await isCreated(file, own))) throw new Error(`another backup has just begun to write to ${folder}`)
  }
  const touching = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => {}), TOUCH_EVERY_MS)

  const isHeld = async () => (await readFile(file, 'utf8').catch(() => '')) === own
  return {
    /** Throws when another backup has replaced the lock, because this process did not run for a minute. */
    async assertHeld(): Promise<void> {
      if (!(await isHeld())) throw new Error(`another backup has taken over ${folder}: let it end, or run this again`)
    },

    async release(): Promise<void> {
      clearInterval(touching)
      if (await isHeld()) await rm(file, { force: true })
    },
  }
}

function refuse(folder: string): never {
  throw new Error(`${folder} has a file "lock" that no backup wrote: give another folder, for backups alone`)
}

async function isCreated(file: string, content: string): Promise<boolean> {
  try {
    await using handle = await open(file, 'wx')
    await handle.writeFile(content).catch(async (error: unknown) => {
      // A full disk has the file without its content.
      await rm(file)
      throw error
    })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
