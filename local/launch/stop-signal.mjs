import { performance } from 'node:perf_hooks'
import { killLivingGroups } from '../processes/process.mjs'

/** `npm start` passes Ctrl-C on, which the terminal has sent us already: both are one wish to stop. */
const sameWishMs = 500

/**
 * Turns Ctrl-C, SIGTERM and SIGHUP into an abort signal. Asking a second time ends everything at once.
 *
 * @param {object} listeners
 * @param {(name: NodeJS.Signals) => void} listeners.onFirst
 * @param {() => void} listeners.onSecond told before the process leaves
 * @returns {AbortSignal}
 */
export function listenForStop({ onFirst, onSecond }) {
  const stop = new AbortController()
  let firstAt = 0
  /** @param {NodeJS.Signals} name */
  const onSignal = (name) => {
    if (!stop.signal.aborted) {
      firstAt = performance.now()
      onFirst(name)
      stop.abort(name)
    } else if (performance.now() - firstAt > sameWishMs) {
      onSecond()
      killLivingGroups()
      process.exit(1)
    }
  }
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(name, onSignal)
  return stop.signal
}
