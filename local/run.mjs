import { delimiter, dirname, join } from 'node:path'
import { root } from './places.mjs'
import { runForeground } from './processes/command.mjs'
import { describe, Failure } from './processes/failure.mjs'
import { prepare } from './toolchain/prepare.mjs'

// node local/run.mjs [--production | --with FOLDER] COMMAND ARGS…: runs a command of the project. It first installs the
// packages that the command needs: also for development, unless --production is given, and for the separate package in
// FOLDER. The Node of the services and the commands of the packages come first on the PATH.

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
  const node = await prepare({ dev: !production, extraFolder })
  const PATH = [dirname(node), join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  return runForeground(command, args, { cwd: root, env: { ...process.env, PATH } })
}
