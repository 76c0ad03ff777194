import { delimiter, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './places.mjs'
import { runForeground } from './processes/command.mjs'
import { describe, Failure } from './processes/failure.mjs'
import { prepare } from './toolchain/prepare.mjs'

// node local/run.mjs [--with FOLDER] NAME… [-- ARGS…]: runs scripts of package.json one after another. It first
// installs what they need, and the packages of the separate package in FOLDER, and puts the Node of the services first
// on the PATH. ARGS go to the last script.

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(describe(error))
  return 1
})

/**
 * @param {string[]} args
 * @returns {Promise<number>} the exit code of the first script that failed, else 0
 */
async function main(args) {
  const split = args.includes('--') ? args.indexOf('--') : args.length
  const { values, positionals: names } = parseArgs({
    args: args.slice(0, split),
    options: { with: { type: 'string' } },
    allowPositionals: true,
  })
  const rest = args.slice(split + 1)
  if (names.length === 0)
    throw new Failure('No script named. Usage: node local/run.mjs [--with FOLDER] NAME… [-- ARGS…]')
  const extraFolder = values.with && join(root, values.with)
  const node = await prepare({ dev: true, extraFolder })
  const { PATH = '' } = process.env
  const env = { ...process.env, PATH: dirname(node) + delimiter + PATH }
  for (const [index, name] of names.entries()) {
    const isLast = index === names.length - 1
    const code = await runForeground('npm', ['run', name, '--', ...(isLast ? rest : [])], { cwd: root, env })
    if (code !== 0) return code
  }
  return 0
}
