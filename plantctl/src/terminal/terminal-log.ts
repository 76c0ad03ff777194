import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'

const MAX_REMEMBERED = 100

type Line = { msg: string; err?: { message: string } | string; error?: string }

/** A log for a person: warnings and errors in plain words, each said once. */
export function createToldLog(tell: (text: string) => void): Log {
  const told = new Set<string>()
  return createLog('plantctl', 'warn', {
    write(line) {
      const words = inWords(JSON.parse(line))
      if (told.has(words)) return
      if (told.size < MAX_REMEMBERED) told.add(words)
      tell(`! ${words}\n`)
    },
  })
}

function inWords({ msg, err, error }: Line): string {
  const cause = typeof err === 'object' ? err.message : (err ?? error)
  return cause === undefined || cause === '' ? msg : `${msg}: ${cause}`
}
