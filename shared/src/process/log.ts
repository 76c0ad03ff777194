import { type Logger, pino } from 'pino'

export type { Logger }

/** Structured log of a process: one JSON object a line on stdout. No secret is ever given to it. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>

export function createLog(name: string, level: string): Logger {
  return pino({
    name,
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  })
}
