import { exitNow } from './exit.ts'
import { PreconditionError } from './failures.ts'
import { createLog, LOG_LEVELS, type Logger } from './json-log.ts'
import { openLogStream } from './log-stream.ts'
import { onSignal } from './signals.ts'
import { within } from './time.ts'

/** EX_CONFIG of sysexits.h: a restart does not help, a person has to change something. */
const EXIT_CONFIGURATION = 78
const EXIT_FAILURE = 1
const CLOSE_TIMEOUT_MS = 9_000
/** The shutdown budget, without the slowest closer. */
const OTHERS_WITHIN_MS = 4_500
const ONE_CLOSE_WITHIN_MS = 1_000
const LOG_WITHIN_MS = 500

/** `hurry` is aborted when the process ends because of a failure, or must end at once. */
type Close = (hurry: AbortSignal) => Promise<void>

export type ServiceContext = {
  name: string
  log: Logger
  /** Ends the process in order, with an exit code that says whether a restart may help. */
  fail(error: Error): void
  /** The reason why the process is about to end; undefined while it is not. */
  ending(): string | undefined
  /** Registers a call for the end. The last one registered is called first; after `withinMs` the next one follows. */
  closeLater(close: Close, withinMs?: number): void
}

/**
 * Runs a service as this process, and ends it in order. Exit codes: 0 after SIGTERM or SIGINT, 78 for a
 * PreconditionError, 1 for any other failure, also one during the end. The last log line gives the reason. A second
 * signal hurries the end. It is forced after 9 s, or 4.5 s after the longest time that a call of `closeLater` may take.
 */
export async function runService(name: string, level = 'info', start: (context: ServiceContext) => Promise<void>) {
  const stream = openLogStream(name)
  // The settings are checked later, and a level that they refuse has to be logged.
  const log = createLog(name, LOG_LEVELS.includes(level) ? level : 'info', stream)
  const closers: { close: Close; withinMs: number }[] = []
  const hurry = new AbortController()
  let ending: string | undefined
  let exitCode = 0

  async function leave(): Promise<never> {
    if (exitCode === 0) log.info('stopped')
    else log.fatal({ exitCode }, `stopped: ${ending}`)
    await stream.flush(LOG_WITHIN_MS)
    exitNow(exitCode)
  }

  async function end(): Promise<void> {
    const longestMs = Math.max(...closers.map(({ withinMs }) => withinMs))
    const timeoutMs = Math.max(CLOSE_TIMEOUT_MS, longestMs + OTHERS_WITHIN_MS)
    const cutOff = setTimeout(() => {
      log.error(`shutdown took longer than ${timeoutMs} ms: exiting now`)
      exitCode ||= EXIT_FAILURE
      void leave()
    }, timeoutMs)
    for (const { close, withinMs } of closers.reverse()) {
      const closed = close(hurry.signal).catch((err: unknown) =>
        log.error({ err }, 'closing a part of the service failed'),
      )
      await within(withinMs, closed)
    }
    clearTimeout(cutOff)
    await leave()
  }

  function fail(error: Error): void {
    if (error instanceof PreconditionError) log.fatal(error.message)
    else log.fatal({ err: error }, error.message)
    const isFirst = ending === undefined
    if (exitCode === 0) {
      exitCode = error instanceof PreconditionError ? EXIT_CONFIGURATION : EXIT_FAILURE
      ending = error instanceof PreconditionError ? error.message : 'an internal error: see the log'
    }
    hurry.abort()
    if (isFirst) void end()
  }

  onSignal((signal) => {
    log.info({ signal }, 'stopping')
    if (ending !== undefined) return hurry.abort()
    ending = 'stopping'
    void end()
  })
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', (reason) => fail(reason instanceof Error ? reason : new Error(String(reason))))
  try {
    await start({
      name,
      log,
      fail,
      ending: () => ending,
      closeLater: (close, withinMs = ONE_CLOSE_WITHIN_MS) => closers.push({ close, withinMs }),
    })
  } catch (error) {
    fail(error as Error)
  }
}
