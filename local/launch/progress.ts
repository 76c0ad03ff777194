/** Shows the user a line. */
export const say = (text: string) => void process.stdout.write(`${text}\n`)

/** Shows a step of the start: a line at its start, and one at its end, marked ✓ done, ✗ failed, - cut off. */
export async function step<T>(label: string, work: () => Promise<T>): Promise<T> {
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
}
