import { performance } from 'node:perf_hooks'

/**
 * Shows the progress: a line at the start and at the end of each step.
 *
 * @typedef {object} Progress
 * @property {<T>(label: string, work: () => Promise<T>) => Promise<T>} step ✓ done, ✗ failed, - cut off
 * @property {(text: string) => void} say
 *
 * @param {NodeJS.WriteStream} stream
 * @returns {Progress}
 */
export function createProgress(stream) {
  /** @param {string} text */
  const say = (text) => void stream.write(`${text}\n`)
  return {
    say,
    async step(label, work) {
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
