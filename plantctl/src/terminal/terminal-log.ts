import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'

const REMEMBERED_MAX = 100

type Line = { msg: string; err?: { message: string } | string; error?: string }

/** A log for a terminal: warnings and errors as plain text, each printed once. */
export function createTerminalLog(printError: (text: string) => void): Log {
  const printed = new Set<string>()
  return createLog('plantctl', 'warn', {
    write(line) {
      const text = formatLine(JSON.parse(line))
      if (printed.has(text)) return
      if (printed.size < REMEMBERED_MAX) printed.add(text)
      printError(`! ${text}\n`)
    },
  })
}

function formatLine({ msg, err, error }: Line): string {
  const cause = typeof err === 'object' ? err.message : (err ?? error)
  return cause === undefined || cause === '' ? msg : `${msg}: ${cause}`
}
