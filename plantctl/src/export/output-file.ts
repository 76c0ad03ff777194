import { randomUUID } from 'node:crypto'
import { lstat, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { UsageError } from '../command.ts'

/**
 * Opens a file that appears under its name when it is complete; until then a previous file stays. The target of a
 * symbolic link is replaced. Throws a UsageError when the file cannot be created, and for a target that exists and is no
 * regular file: the rename would replace a device or a FIFO.
 */
export async function openOutputFile(file: string) {
  const { target, mode } = await targetOf(file)
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.partial`)
  const handle = await open(temporary, 'wx', mode).catch((cause: NodeJS.ErrnoException) => {
    const reason = getSystemErrorMessage(cause.errno ?? 0)
    throw new UsageError(`--output ${file}: no file can be created in ${dirname(target)}: ${reason}`, { cause })
  })
  return {
    async write(text: string): Promise<void> {
      await handle.writeFile(text)
    },

    /** Moves the complete file to its name. */
    async finish(): Promise<void> {
      await handle.sync()
      await handle.close()
      await rename(temporary, target)
    },

    /** Deletes what was written. */
    async abandon(): Promise<void> {
      await handle.close().catch(() => {})
      await rm(temporary, { force: true })
    },
  }
}

async function targetOf(file: string): Promise<{ target: string; mode?: number }> {
  if (await isAbsent(file)) return { target: file }
  // Rejects for a link to nothing, such as /dev/stdout when stdout is a pipe.
  const target = await realpath(file).catch(() => undefined)
  const found = target === undefined ? undefined : await stat(target)
  if (target !== undefined && found?.isFile()) return { target, mode: found.mode }
  throw new UsageError(
    `--output ${file}: expected a regular file, or a name for a new one; for a pipe or a device redirect stdout instead`,
  )
}

const isAbsent = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => false,
    () => file !== '',
  )
