import { randomUUID } from 'node:crypto'
import { lstat, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { correctionOf } from '../cli-context.ts'
import { UsageError } from '../command.ts'

/** The mode of a file with names and tags. */
export const OWNER_ONLY = 0o600

/**
 * Opens a file that appears under its name when it is complete; until then a previous file stays. The target of a
 * symbolic link is replaced. Throws a UsageError when the file cannot be created, and for a target that exists and is no
 * regular file: the rename would replace a device or a FIFO.
 */
export async function openOutputFile(file: string) {
  const { target, mode } = await targetOf(file)
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.partial`)
  const opened = await openWholeFile(temporary, mode).catch((cause: NodeJS.ErrnoException) => {
    throw new UsageError(`--output ${file}: no file can be created in ${dirname(target)}: ${correctionOf(cause)}`, {
      cause,
    })
  })
  const failed = (cause: NodeJS.ErrnoException): never => {
    throw new Error(`--output ${file}: ${correctionOf(cause)}`, { cause })
  }
  return {
    ...opened,
    write: (lines: string) => opened.write(lines).catch(failed),
    finish: () => opened.finish(target).catch(failed),
  }
}

/** Opens a temporary file that gets its name when it is complete and on the disk; otherwise its disposal deletes it. */
export async function openWholeFile(temporary: string, mode: number) {
  const handle = await open(temporary, 'w', mode)
  return {
    async write(content: string | Uint8Array): Promise<void> {
      await handle.writeFile(content)
    },

    /** Moves the complete file to its name, unless `beforeRename` rejects. To sync may take long. */
    async finish(name: string, beforeRename = async () => {}): Promise<void> {
      await handle.sync()
      await handle.close()
      await beforeRename()
      await rename(temporary, name)
      await syncFolder(dirname(name))
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await handle.close().catch(() => {})
      // Its error would hide the one for which the file is deleted.
      await rm(temporary, { force: true }).catch(() => {})
    },
  }
}

/** A rename is on the disk when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}

async function targetOf(file: string): Promise<{ target: string; mode: number }> {
  const isNew = file !== '' && !file.endsWith('/') && (await lstat(file).catch(() => undefined)) === undefined
  if (isNew) return { target: file, mode: OWNER_ONLY }
  // Rejects for a link to nothing, such as /dev/stdout when stdout is a pipe.
  const target = await realpath(file).catch(() => '')
  const found = target === '' ? undefined : await stat(target)
  if (found?.isFile()) return { target, mode: found.mode }
  throw new UsageError(
    `--output ${file}: expected a regular file, or a name for a new one; for a pipe or a device redirect stdout instead`,
  )
}
