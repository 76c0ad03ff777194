import { performance } from 'node:perf_hooks'

/**
 * Shows the progress: on a terminal one line for each running step, redrawn with its seconds; elsewhere (a file, CI) a
 * plain line at the start and at the end of a step.
 *
 * @typedef {object} Progress
 * @property {<T>(label: string, work: () => Promise<T>) => Promise<T>} step ✓ done, ✗ failed, - cut off
 * @property {(text: string) => void} say
 *
 * @param {NodeJS.WriteStream} stream
 * @returns {Progress}
 */
export function createProgress(stream) {
  return stream.isTTY ? onTerminal(stream) : inPlainLines(stream)
}

/**
 * @param {NodeJS.WriteStream} stream
 * @returns {Progress}
 */
function inPlainLines(stream) {
  /** @param {string} text */
  const say = (text) => void stream.write(`${text}\n`)
  return {
    say,
    async step(label, work) {
      const start = performance.now()
      say(`  ${label} …`)
      return marked(work, (mark) => say(`${mark} ${label} (${secondsSince(start)})`))
    },
  }
}

/**
 * @param {NodeJS.WriteStream} stream
 * @returns {Progress}
 */
function onTerminal(stream) {
  const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
  /** @type {Map<string, number>} */
  const running = new Map()
  let shownLines = 0
  let frame = 0
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  /** @param {string} [finished] lines that stay, above the running ones */
  function redraw(finished = '') {
    const back = shownLines > 0 ? `\x1b[${shownLines}A\x1b[J` : ''
    const spinner = frames[frame % frames.length]
    const lines = [...running].map(([label, start]) => `${spinner} ${label} (${secondsSince(start)})\n`)
    shownLines = lines.length
    stream.write(back + finished + lines.join(''))
  }

  function nextFrame() {
    frame += 1
    redraw()
  }

  return {
    say: (text) => redraw(`${text}\n`),
    async step(label, work) {
      const start = performance.now()
      running.set(label, start)
      timer ??= setInterval(nextFrame, 100)
      redraw()
      return marked(work, (mark) => {
        running.delete(label)
        if (running.size === 0) {
          clearInterval(timer)
          timer = undefined
        }
        redraw(`${mark} ${label} (${secondsSince(start)})\n`)
      })
    },
  }
}

/** @param {number} start */
const secondsSince = (start) => `${((performance.now() - start) / 1000).toFixed(1)} s`

/**
 * @template T
 * @param {() => Promise<T>} work
 * @param {(mark: string) => void} onEnd called with the result
 * @returns {Promise<T>}
 */
async function marked(work, onEnd) {
  let mark = '✓'
  try {
    return await work()
  } catch (error) {
    // A string is the reason of an abort, not an error of the step.
    mark = typeof error === 'string' ? '-' : '✗'
    throw error
  } finally {
    onEnd(mark)
  }
}
