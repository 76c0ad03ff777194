import { constants } from 'node:os'
import { killLivingGroups } from '../processes/process.mjs'
import { sideBySide } from '../processes/side-by-side.mjs'
import { ensureInstalled } from './install.mjs'
import { ensureNode } from './node.mjs'

const saySoAfterMs = 1000

/**
 * What a program needs that is then run in the foreground. Asked to stop meanwhile, it ends what it began and
 * leaves.
 *
 * @param {object} options
 * @param {boolean} options.dev whether the packages for development are needed
 * @param {string | undefined} [options.packageOfItsOwn] the folder of another package whose packages are needed, too
 * @returns {Promise<string>} the path of Node
 */
export async function prepare({ dev, packageOfItsOwn }) {
  const timer = setTimeout(() => console.error('Getting Node and packages, once …'), saySoAfterMs)
  /** @param {NodeJS.Signals} signal */
  const leave = (signal) => {
    killLivingGroups()
    process.exit(128 + constants.signals[signal])
  }
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
  for (const signal of signals) process.on(signal, leave)
  try {
    const [node] = await sideBySide(
      new AbortController().signal,
      (signal) => ensureNode({ signal }),
      (signal) => ensureInstalled({ dev, signal }),
    )
    if (packageOfItsOwn !== undefined) await ensureInstalled({ dev, folder: packageOfItsOwn })
    return node
  } finally {
    clearTimeout(timer)
    for (const signal of signals) process.off(signal, leave)
  }
}
