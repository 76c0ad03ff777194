import { isDeepStrictEqual } from 'node:util'
import { messageOf, PreconditionError } from './failures.ts'
import type { Log } from './log.ts'
import { repeat } from './retry.ts'
import { singleFlight } from './single-flight.ts'
import { systemTime } from './time.ts'

const WITHIN_MS = 5_000
/** Less than the time that a connection has for TLS and its login. */
const CONNECTION_WITHIN_MS = 500

export type ReadFiles<T> = ReturnType<typeof readAgain<T>>

type Source<T> = {
  what: string
  read(): Promise<T>
  withinMs?: number
}

export type Reload<T> = Source<T> & {
  /** Called with each value that differs from the one before. */
  use?(value: T): void
  log: Log
  everyMs?: number | undefined
}

/**
 * The content of files, which are read again every 5 s. While they cannot be read, or within 5 s, or are invalid, the
 * previous content stays, and the log has the reason once. Throws a PreconditionError when the first read fails.
 */
export async function openReloaded<T>(reload: Reload<T>) {
  const { what, read, use = () => {}, log, everyMs = 5_000, withinMs = WITHIN_MS } = reload
  let used = await inTime(read(), what, withinMs).catch((error: unknown) => {
    throw error instanceof PreconditionError ? error : new PreconditionError(`settings: ${messageOf(error)}`)
  })
  const files = readAgain({ what, read, withinMs }, used)

  async function task(): Promise<void> {
    const found = await files.renew((reason) => log.error(reason))
    if (isDeepStrictEqual(found, used)) return
    used = found
    use(found)
  }

  const reloading = repeat({ time: systemTime, everyMs, what: `reading the ${what}`, log, task, onHalt() {} })
  return { ...files, close: reloading.close }
}

/** One read at a time: where a file system hangs, each blocks one of four threads, which DNS needs, too. */
let turn: Promise<unknown> = Promise.resolve()

/** The content of files that are read again before each connection; `first` is what was read at the start. */
export function filesOfConnections<T>(what: string, first: T, read: () => Promise<T>): ReadFiles<T> {
  function readInTurn(): Promise<T> {
    const reading = turn.then(read, read)
    turn = reading
    return reading
  }
  return readAgain({ what, read: readInTurn, withinMs: CONNECTION_WITHIN_MS }, first)
}

/** The content of files that are read again and again. */
function readAgain<T>({ what, read, withinMs }: Required<Source<T>>, first: T) {
  let current = first
  let readAtMs = Date.now()
  let lastReason = ''
  // While a read hangs, the next ones wait for the same: each would block a thread.
  const readOnce = singleFlight(async () => {
    current = await read()
    readAtMs = Date.now()
    lastReason = ''
  })
  return {
    current: () => current,

    /** When it was read last, in seconds since 1970. */
    readAt: () => readAtMs / 1_000,

    /** The reason of the last read's failure; empty when it succeeded. */
    problems: (): string[] => (lastReason === '' ? [] : [lastReason]),

    /** Reads again. Unread or invalid, the previous content stays, and `report` receives the reason once. */
    async renew(report: (reason: string) => void): Promise<T> {
      try {
        await inTime(readOnce(), what, withinMs)
      } catch (error) {
        const reason = `${messageOf(error)}; the previous ${what} stays in use until this is corrected`
        if (reason !== lastReason) report(reason)
        lastReason = reason
      }
      return current
    },
  }
}

/** Rejects when the files are not read in time. */
export function inTime<T>(reading: Promise<T>, what: string, withinMs = WITHIN_MS): Promise<T> {
  const late = Promise.withResolvers<never>()
  const error = new Error(`the ${what} could not be read within ${withinMs} ms: check the file system`)
  const timer = setTimeout(late.reject, withinMs, error)
  return Promise.race([reading, late.promise]).finally(() => clearTimeout(timer))
}
