import { isDeepStrictEqual } from 'node:util'
import { messageOf, PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { repeat } from '@plant-store/shared/runtime/retry.ts'
import { singleFlight } from '@plant-store/shared/runtime/single-flight.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'

export type Reloaded<T> = {
  current(): T
  /** When it was read last, in seconds since 1970. */
  readAt(): number
  close(): Promise<void>
}

export type Reload<T> = {
  /** The name of the content, for the log. */
  what: string
  /** Reads and checks the files. */
  read(): Promise<T>
  /** Called with each value that differs from the one before. */
  use?(value: T): void
  log: Log
  everyMs?: number | undefined
  withinMs?: number
}

/**
 * The content of files, which are read again every 5 s. While they cannot be read, or within 5 s, or are invalid, the
 * previous content stays, and the log has the reason once. Throws a PreconditionError when the first read fails.
 */
export async function openReloaded<T>(reload: Reload<T>): Promise<Reloaded<T>> {
  const { what, read, use = () => {}, log, everyMs = 5_000, withinMs = 5_000 } = reload
  // While a read hangs, the next ones wait for the same: each would block a thread.
  const readOnce = singleFlight(read)
  const late = () =>
    new Promise<never>((_resolve, reject) => {
      const error = new Error(`the ${what} could not be read within ${withinMs} ms: check the file system`)
      setTimeout(reject, withinMs, error).unref()
    })
  const readInTime = () => Promise.race([readOnce(), late()])
  let lastError = ''
  let current = await readInTime().catch((error: unknown) => {
    throw error instanceof PreconditionError ? error : new PreconditionError(`settings: ${messageOf(error)}`)
  })
  let readAtMs = Date.now()

  async function task(): Promise<void> {
    try {
      const found = await readInTime()
      readAtMs = Date.now()
      lastError = ''
      if (isDeepStrictEqual(found, current)) return
      current = found
      use(found)
    } catch (error) {
      const message = messageOf(error)
      if (message !== lastError) log.error(`${message}; the previous ${what} stays in use until this is corrected`)
      lastError = message
    }
  }

  const reloading = repeat({ time: systemTime, everyMs, what: `reading the ${what}`, log, task, onHalt() {} })
  return { current: () => current, readAt: () => readAtMs / 1_000, close: reloading.close }
}
