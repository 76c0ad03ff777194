import { access, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { correctionOf } from '../cli-context.ts'

/** Does work on a folder; an error of its file system is thrown with the folder, the reason and what to do. */
export async function withFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const cause = error as NodeJS.ErrnoException
    if (cause.errno === undefined) throw error
    throw new Error(`${folder}: ${correctionOf(cause)}: a backup that was complete still is`, { cause })
  }
}

/**
 * Creates a missing folder for its owner alone, and those above it. Node's recursive `mkdir` never ends in a folder that
 * takes none, such as /proc.
 */
export async function makeFolder(folder: string): Promise<void> {
  const isMissing = await access(folder).then(
    () => false,
    ({ code }: NodeJS.ErrnoException) => code === 'ENOENT',
  )
  if (!isMissing) return
  await makeFolder(dirname(folder))
  await mkdir(folder, 0o700).catch((error: NodeJS.ErrnoException) => {
    // As `.` and `..` in a path do by now, or what another process has created.
    if (error.code !== 'EEXIST') throw error
  })
}
