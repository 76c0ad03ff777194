export type Progress = ReturnType<typeof createProgress>

/** Shows the progress: a line at the start and at the end of each step. */
export function createProgress(stream: NodeJS.WriteStream) {
  const say = (text: string) => void stream.write(`${text}\n`)
  return {
    say,

    /** Marks its end: ✓ done, ✗ failed, - cut off. */
    async step<T>(label: string, work: () => Promise<T>): Promise<T> {
      const start = performance.now()
      say(`  ${label} …`)
      let mark = '✓'
      try {
        return await work()
      } catch (error) {
        // A string is the reason of an abort, not an error of the step.
        mark = typeof error === 'string' ? '-' : '✗'
        throw error
      } finally {
        say(`${mark} ${label} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
      }
    },
  }
}
