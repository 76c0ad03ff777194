import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, root } from './places.mjs'
import { Failure, runProgram } from './processes/failure.mjs'
import { runForeground } from './processes/foreground.mjs'

// Runs run.ts by a Node that runs TypeScript: this one if it is new enough, else one fetched from the npm registry into
// a folder below .local. This file runs on old versions of Node.

// Older ones do not know import.meta.main.
const OLDEST = { major: 24, minor: 2 }

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) await import('./run.ts')
else await runProgram(async (args) => runForeground(fetchedNode(), [join(root, 'local', 'run.ts'), ...args]))

function fetchedNode() {
  const version = readFileSync(join(root, '.node-version'), 'utf8').trim()
  // The package `node` fetches its binary in an install script; its packages per platform hold the binary.
  const platform = `${process.platform}-${process.arch}`
  const name = platform === 'darwin-arm64' ? `node-bin-${platform}` : `node-${platform}`
  const folder = join(cacheDir, `node-${version}-${platform}`)
  const path = join('node_modules', name, 'bin', 'node')
  const node = join(folder, path)
  const runs = (program = node) =>
    spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout?.trim() === `v${version}`
  if (runs()) return node
  console.error(`Installing Node ${version} (once) …`)
  const part = `${folder}.${process.pid}.part`
  mkdirSync(part, { recursive: true })
  // An interrupted fetch leaves its folder.
  for (const name of readdirSync(cacheDir)) {
    const [, pid] = /^node-.+\.(\d+)\.part$/.exec(name) ?? []
    // Unlike kill, ps also finds the process of another user.
    const isDead = pid && spawnSync('ps', ['-p', pid]).status === 1
    if (isDead) rmSync(join(cacheDir, name), { recursive: true, force: true })
  }
  const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const args = ['install', '--prefix', part, ...options, `${name}@${version}`]
  spawnSync('npm', args, { cwd: part, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    // On a full disk npm succeeds with a part of the file.
    if (runs(join(part, path)) && !runs()) {
      rmSync(folder, { recursive: true, force: true })
      renameSync(part, folder)
    }
  } catch {
    // Another process has fetched it at the same time.
  }
  rmSync(part, { recursive: true, force: true })
  if (runs()) return node
  throw new Failure(
    `Node ${version} for ${platform} could not be fetched, or does not run here. Free space if the disk is full, try ` +
      `again later, or install Node ${OLDEST.major}.${OLDEST.minor} or newer.`,
  )
}
