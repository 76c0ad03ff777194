import type { Log } from '../runtime/log.ts'

const nothing = () => {}

/** The log of a consumer that was given none: warnings and errors, on stderr. */
export const consoleLog: Log = {
  debug: nothing,
  info: nothing,
  warn: (...said: unknown[]) => console.warn('plants:', ...said.reverse()),
  error: (...said: unknown[]) => console.error('plants:', ...said.reverse()),
}
