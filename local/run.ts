import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { cacheDir, root } from './places.mjs'
import { killLivingGroups } from './processes/command.ts'
import { Failure, runProgram } from './processes/failure.mjs'
import { END_SIGNALS, runForeground } from './processes/foreground.mjs'
import { ensureInstalled } from './toolchain/prepare.ts'

// node local/run.mjs [--production | --with FOLDER] COMMAND ARGS…: runs a command of the project. It first installs the
// packages that the command needs: also for development, unless --production is given, and for the separate package in
// FOLDER. This Node and the commands of the packages come first on the PATH.
//
// All imports of this file run before `npm ci`, so they have no dependencies.

const REPORT_AFTER_MS = 1000

await runProgram(main)

/** Resolves to the exit code. */
async function main(words: string[]): Promise<number> {
  const production = words[0] === '--production'
  const extraFolder = words[0] === '--with' ? join(root, words[1] ?? '') : undefined
  const [command, ...args] = words.slice(production ? 1 : extraFolder ? 2 : 0)
  if (!command) throw new Failure('Usage: node local/run.mjs [--production | --with FOLDER] COMMAND ARGS…')
  await install(!production, extraFolder)
  const PATH = [dirname(process.execPath), join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  // Node keeps compiled modules there: a program starts with half of the CPU time.
  const { NODE_COMPILE_CACHE = join(cacheDir, 'node-compile-cache') } = process.env
  return runForeground(command, args, { cwd: root, env: { ...process.env, PATH, NODE_COMPILE_CACHE } })
}

/** Installs what the command needs. A signal to stop ends the installation and this process. */
async function install(dev: boolean, extraFolder: string | undefined): Promise<void> {
  const timer = setTimeout(() => console.error('Installing packages (once) …'), REPORT_AFTER_MS)
  function leave(signal: NodeJS.Signals): void {
    killLivingGroups()
    process.exit(128 + constants.signals[signal])
  }
  for (const signal of END_SIGNALS) process.on(signal, leave)
  try {
    await ensureInstalled({ dev })
    if (extraFolder !== undefined) await ensureInstalled({ dev, folder: extraFolder })
  } finally {
    clearTimeout(timer)
    for (const signal of END_SIGNALS) process.off(signal, leave)
  }
}
