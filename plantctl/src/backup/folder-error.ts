import { getSystemErrorMessage } from 'node:util'

/** Does work on a folder; an error of its file system is thrown with the folder, the reason and what to do. */
export async function withFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException
    if (errno === undefined) throw error
    const reason = getSystemErrorMessage(errno)
    throw new Error(`${folder}: ${reason}. Correct it and run this again: a backup that was complete still is`, {
      cause: error,
    })
  }
}
