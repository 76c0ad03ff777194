import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'

/** A stack frame of Java or JavaScript. The message is before it. */
export const frame = /^\s+(at |\.\.\. \d+ (more|common frames))/

/**
 * @param {string} path
 * @param {{ from?: number, maxBytes?: number }} [range] where to start reading, and the most to read: of a
 *   longer file the end is what counts
 * @returns {string} '' when there is no such file
 */
export function readLog(path, { from = 0, maxBytes = 1024 * 1024 } = {}) {
  if (!existsSync(path)) return ''
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const start = Math.max(from, size - maxBytes)
    const buffer = Buffer.alloc(Math.max(0, size - start))
    const length = readSync(file, buffer, 0, buffer.length, start)
    return buffer.toString('utf8', 0, length)
  } finally {
    closeSync(file)
  }
}

/**
 * The end of a log, for a person: without stack frames, and of JSON lines only the message and the error's message.
 *
 * @param {string} path
 * @param {{ from?: number, lines?: number }} [range]
 * @returns {string} indented lines
 */
export function lastLines(path, { from = 0, lines = 8 } = {}) {
  const text = readLog(path, { from, maxBytes: 64 * 1024 }).trimEnd()
  if (text === '') return '  (its log is empty)'
  const last = text
    .split('\n')
    .filter((line) => !frame.test(line))
    .slice(-lines)
  return last.map((line) => `  ${readable(line)}`).join('\n')
}

/**
 * The last error a service logged, else the end of its log: Node itself prints plain text when a program
 * cannot even start.
 *
 * @param {string} path
 * @param {{ from?: number }} [range]
 * @returns {string} indented lines
 */
export function lastError(path, { from = 0 } = {}) {
  const lines = readLog(path, { from, maxBytes: 64 * 1024 })
    .trimEnd()
    .split('\n')
  const error = lines.findLast((line) => ['error', 'fatal'].includes(parsed(line)?.level ?? ''))
  return error ? `  ${readable(error)}` : lastLines(path, { from })
}

/**
 * Makes place for the log of a new start and keeps one previous file.
 *
 * @param {string} path
 */
export function rotateLog(path) {
  mkdirSync(dirname(path), { recursive: true })
  if (existsSync(path)) renameSync(path, `${path}.1`)
}

/** @param {string} line */
function readable(line) {
  const entry = parsed(line)
  if (entry?.msg === undefined) return line
  const cause = entry.err?.message
  return cause && !entry.msg.includes(cause) ? `${entry.msg}: ${cause}` : entry.msg
}

/**
 * @param {string} line
 * @returns {{ level?: string, msg?: string, err?: { message?: string } } | undefined}
 */
function parsed(line) {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
