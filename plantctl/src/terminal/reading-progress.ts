import type { CliContext } from '../command.ts'
import { progressBar } from './progress-bar.ts'
import { startProgressLine } from './progress-line.ts'

/** Shows on stderr how much of the log was read, from when it is known how much there is. */
export function createReadingProgress(context: CliContext, what: string) {
  let passed = 0
  let line: ReturnType<typeof startProgressLine> | undefined
  return {
    /** So many records are to be read, if nothing has to be read again. */
    begin(of: number): void {
      const begunAt = performance.now()
      line = startProgressLine(context, (columns) => {
        const elapsedMs = performance.now() - begunAt
        return progressBar({ passed: Math.min(passed, of), before: 0, of, elapsedMs }, what, columns)
      })
    },

    onRead(records: number): void {
      passed += records
    },

    async end(): Promise<void> {
      const ending = line
      line = undefined
      await ending?.end()
    },
  }
}
