import { reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'

const REMEMBERED_MAX = 100

/** A log for a terminal: warnings and errors as plain text, each printed once. */
export function createTerminalLog(printError: (text: string) => void): Log {
  const printed = new Set<string>()

  function print(first: object | string, message?: string): void {
    const text = typeof first === 'string' ? first : withReason(message ?? '', first)
    if (printed.has(text)) return
    if (printed.size < REMEMBERED_MAX) printed.add(text)
    printError(`! ${text}\n`)
  }

  return { debug() {}, info() {}, warn: print, error: print }
}

function withReason(message: string, { err }: { err?: unknown }): string {
  const reason = err === undefined ? '' : reasonOf(err)
  return message.includes(reason) ? message : `${message}: ${reason}`
}
