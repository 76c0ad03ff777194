import { randomUUID } from 'node:crypto'
import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../command.ts'

/**
 * Opens a file that appears under its name when it is complete; until then a previous file stays. Throws a UsageError
 * when the file cannot be created.
 */
export async function openOutputFile(file: string) {
  const isFolder = await stat(file).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (isFolder || file === '') throw new UsageError(`--output ${file}: expected the name of a file`)
  const temporary = join(dirname(file), `.${basename(file)}.${randomUUID()}.partial`)
  const handle = await open(temporary, 'wx').catch((cause: Error) => {
    throw new UsageError(`--output ${file}: ${cause.message}`, { cause })
  })
  return {
    async write(text: string): Promise<void> {
      await handle.writeFile(text)
    },

    /** Moves the complete file to its name. */
    async finish(): Promise<void> {
      await handle.sync()
      await handle.close()
      await rename(temporary, file)
    },

    /** Deletes what was written. */
    async abandon(): Promise<void> {
      await handle.close().catch(() => {})
      await rm(temporary, { force: true })
    },
  }
}
