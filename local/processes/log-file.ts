import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { endOf } from './command.ts'

const MAX_BYTES = 64 * 1024

/** The lines of a log from this byte on; of a long log only the last ones. */
function linesOf(path: string, from: number): string[] {
  if (!existsSync(path)) return []
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.alloc(MAX_BYTES)
    const size = readSync(file, buffer, { position: Math.max(from, fstatSync(file).size - MAX_BYTES) })
    return buffer.toString('utf8', 0, size).split('\n')
  } finally {
    closeSync(file)
  }
}

/** The end of a log, for a person: of JSON lines only the message and the error's message. The lines are indented. */
export const lastLines = (path: string, from: number): string =>
  endOf(linesOf(path, from).map(readable).join('\n')) || '  (its log is empty)'

/** The last error a service logged, else the end of its log: Node prints text when a program cannot start. */
export function lastError(path: string, from: number): string {
  const error = linesOf(path, from).findLast((line) => ['error', 'fatal'].includes(parsed(line).level ?? ''))
  return error ? `  ${readable(error)}` : lastLines(path, from)
}

/** Makes place for the logs of a new start in a folder, and keeps one previous file of each. */
export function rotateLogs(folder: string): void {
  const logs = readdirSync(folder).filter((name) => name.endsWith('.log'))
  for (const name of logs) renameSync(join(folder, name), join(folder, `${name}.1`))
}

function readable(line: string): string {
  const { msg, err } = parsed(line)
  if (msg === undefined) return line
  return err?.message && !msg.includes(err.message) ? `${msg}: ${err.message}` : msg
}

type Entry = { level?: string; msg?: string; err?: { message?: string } }

/** Nothing for a line that is no JSON object. */
function parsed(line: string): Entry {
  try {
    return Object(JSON.parse(line))
  } catch {
    return {}
  }
}
