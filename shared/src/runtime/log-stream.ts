import { fstatSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'

const STDOUT = 1
/** The longest backlog of a pipe whose reader does not read. */
const BACKLOG_MAX_BYTES = 8 * 1_048_576

/**
 * The log lines of a process on stdout. Lines for which a file has no room are dropped and counted. When stdout is a
 * pipe, a reader that stops reading delays nothing but the lines: 8 MiB of them wait, and those after them are dropped
 * and counted.
 */
export function openLogStream(name: string) {
  const stdout = fstatSync(STDOUT)
  const stream = stdout.isFIFO() || stdout.isSocket() ? openPipe() : openFile()
  let dropped = 0
  return {
    flush: stream.flush,
    write(line: string): void {
      dropped = stream.write(dropped === 0 ? line : `${notice()}\n${line}`) ? 0 : dropped + 1
    },
  }

  function notice(): string {
    const msg = `${dropped} log lines were dropped: ${stream.dropReason}`
    return JSON.stringify({ level: 'warn', time: new Date().toISOString(), name, msg })
  }
}

/** `write` returns false for what is dropped; `flush` resolves when all lines are written, or after this time. */
type Output = { write(text: string): boolean; dropReason: string; flush(withinMs: number): Promise<void> }

/** Writes at once: lines that wait for a thread would follow those that the exit of the process writes. */
function openFile(): Output {
  let isLineOpen = false
  return {
    dropReason: 'stdout could not be written',
    flush: async () => {},
    write(text) {
      const bytes = Buffer.from(isLineOpen ? `\n${text}` : text)
      let written = 0
      try {
        while (written < bytes.length) written += writeSync(STDOUT, bytes, written)
        isLineOpen = false
        return true
      } catch {
        isLineOpen ||= written > 0
        return false
      }
    },
  }
}

/** Node's own stdout waits until a pipe has room, and with it the process, its signals and its end. */
function openPipe(): Output {
  const pipe = new Socket({ fd: STDOUT, readable: false, writable: true })
  // A line about it would have no reader.
  pipe.on('error', () => {})
  return {
    dropReason: 'the reader of stdout did not read them',
    write(text) {
      if (pipe.writableLength + text.length > BACKLOG_MAX_BYTES) return false
      pipe.write(text)
      return true
    },
    flush: (withinMs) =>
      new Promise((resolve) => {
        setTimeout(resolve, withinMs)
        pipe.write('', () => resolve())
      }),
  }
}
