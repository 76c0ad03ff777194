import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, root } from '../../local/places.mjs'
import { ensureInstalled } from '../../local/toolchain/prepare.ts'

const FOLDER = join(cacheDir, 'former')
const MAX_ARCHIVE_BYTES = 256 * 1_048_576

const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/**
 * What a release is compared with: the newest tag of a release before this commit, or else the previous commit.
 * Undefined in a clone that has neither, as one of a single commit.
 */
export function formerRevision(): string | undefined {
  const tags = git('tag', '--list', 'v*', '--merged', 'HEAD', '--no-contains', 'HEAD', '--sort=-version:refname')
  const [, parent] = git('rev-list', '--max-count=2', 'HEAD').split('\n')
  return tags.split('\n')[0] || parent
}

/** Puts the files and packages of a revision of this repository into a separate folder, unless they are there. */
export async function checkOut(revision: string): Promise<string> {
  const commit = git('rev-parse', '--verify', `${revision}^{commit}`)
  const folder = join(FOLDER, commit)
  if (!existsSync(folder)) {
    rmSync(FOLDER, { recursive: true, force: true })
    const part = `${folder}.part`
    mkdirSync(part, { recursive: true })
    const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: MAX_ARCHIVE_BYTES })
    execFileSync('tar', ['-x'], { cwd: part, input: archive })
    renameSync(part, folder)
  }
  await ensureInstalled({ dev: false, folder })
  return folder
}
