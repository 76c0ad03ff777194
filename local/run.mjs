import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { root } from './places.mjs'
import { END_SIGNALS, runForeground } from './processes/command.mjs'
import { describe, Failure } from './processes/failure.mjs'
import { killLivingGroups } from './processes/group.mjs'
import { ensureNode } from './toolchain/node.mjs'
import { ensureInstalled } from './toolchain/prepare.mjs'

// node local/run.mjs [--production | --with FOLDER] COMMAND ARGS…: runs a command of the project. It first installs the
// packages that the command needs: also for development, unless --production is given, and for the separate package in
// FOLDER. The Node of the services and the commands of the packages come first on the PATH.
//
// All that this file imports runs before `npm ci`, on old versions of Node as well: without packages, in JavaScript.

const REPORT_AFTER_MS = 1000

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(describe(error))
  return 1
})

/**
 * @param {string[]} words
 * @returns {Promise<number>} the exit code
 */
async function main(words) {
  const production = words[0] === '--production'
  const extraFolder = words[0] === '--with' ? join(root, words[1] ?? '') : undefined
  const [command, ...args] = words.slice(production ? 1 : extraFolder ? 2 : 0)
  if (!command) throw new Failure('Usage: node local/run.mjs [--production | --with FOLDER] COMMAND ARGS…')
  const node = await prepare(!production, extraFolder)
  const PATH = [dirname(node), join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  return runForeground(command, args, { cwd: root, env: { ...process.env, PATH } })
}

/**
 * Installs what the command needs. A signal to stop ends the installation and this process.
 *
 * @param {boolean} dev whether the packages for development are needed
 * @param {string | undefined} extraFolder
 * @returns {Promise<string>} the path of Node
 */
async function prepare(dev, extraFolder) {
  const timer = setTimeout(() => console.error('Installing Node and packages (once) …'), REPORT_AFTER_MS)
  /** @param {NodeJS.Signals} signal */
  const leave = (signal) => {
    killLivingGroups()
    process.exit(128 + constants.signals[signal])
  }
  for (const signal of END_SIGNALS) process.on(signal, leave)
  try {
    const node = await ensureNode()
    await ensureInstalled({ dev })
    if (extraFolder !== undefined) await ensureInstalled({ dev, folder: extraFolder })
    return node
  } finally {
    clearTimeout(timer)
    for (const signal of END_SIGNALS) process.off(signal, leave)
  }
}
