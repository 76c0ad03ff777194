import { fstatSync } from 'node:fs'
import { Socket } from 'node:net'
import { type DestinationStream, destination } from 'pino'

const STDOUT = 1
/** What may wait for a reader that does not read. */
const BACKLOG_MAX_BYTES = 8 * 1_048_576

/**
 * The log lines of a process on stdout. When that is a pipe, a reader that stops reading delays nothing but the lines:
 * 8 MiB of them wait, and those after them are dropped and counted.
 */
export type LogStream = DestinationStream & {
  /** Resolves when all lines are written, or after this time. */
  flush(withinMs: number): Promise<void>
}

export function openLogStream(name: string): LogStream {
  const stdout = fstatSync(STDOUT)
  if (!stdout.isFIFO() && !stdout.isSocket()) {
    // Otherwise a line that waits for a thread is written after those that the exit of the process writes at once.
    const file = destination({ dest: STDOUT, sync: true })
    return { write: (line) => void file.write(line), flush: async () => {} }
  }
  // Node's own stdout waits until a pipe has room, and with it the process, its signals and its end.
  const pipe = new Socket({ fd: STDOUT, readable: false, writable: true })
  // Without a reader there is nobody to tell.
  pipe.on('error', () => {})
  let dropped = 0
  return {
    write(line) {
      if (pipe.writableLength + line.length > BACKLOG_MAX_BYTES) {
        dropped++
        return
      }
      if (dropped > 0) {
        const msg = `${dropped} log lines were dropped: the reader of stdout did not read them`
        pipe.write(`${JSON.stringify({ level: 'warn', time: new Date().toISOString(), name, msg })}\n`)
        dropped = 0
      }
      pipe.write(line)
    },

    flush: (withinMs) =>
      new Promise((resolve) => {
        setTimeout(resolve, withinMs)
        pipe.write('', () => resolve())
      }),
  }
}
