import { performance } from 'node:perf_hooks'

/**
 * Shows what is going on: on a terminal one line for each step under way, redrawn with the seconds it has
 * taken; elsewhere (a file, CI) a plain line when a step begins and one when it ends.
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
      const begin = performance.now()
      say(`  ${label} …`)
      return marked(work, (mark) => say(`${mark} ${label} (${secondsSince(begin)})`))
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
  const underWay = new Map()
  let shownLines = 0
  let frame = 0
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  /** @param {string} [finished] lines that stay, above those under way */
  function redraw(finished = '') {
    const back = shownLines > 0 ? `\x1b[${shownLines}A\x1b[J` : ''
    const spinner = frames[frame % frames.length]
    const lines = [...underWay].map(([label, begin]) => `${spinner} ${label} (${secondsSince(begin)})\n`)
    shownLines = lines.length
    stream.write(back + finished + lines.join(''))
  }

  function turn() {
    frame += 1
    redraw()
  }

  return {
    say: (text) => redraw(`${text}\n`),
    async step(label, work) {
      const begin = performance.now()
      underWay.set(label, begin)
      timer ??= setInterval(turn, 100)
      redraw()
      return marked(work, (mark) => {
        underWay.delete(label)
        if (underWay.size === 0) {
          clearInterval(timer)
          timer = undefined
        }
        redraw(`${mark} ${label} (${secondsSince(begin)})\n`)
      })
    },
  }
}

/** @param {number} begin */
const secondsSince = (begin) => `${((performance.now() - begin) / 1000).toFixed(1)} s`

/**
 * @template T
 * @param {() => Promise<T>} work
 * @param {(mark: string) => void} onEnd told how it ended
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
