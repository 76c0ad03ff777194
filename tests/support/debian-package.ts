import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../../local/processes/command.ts'
import { builtOnce } from '../../local/toolchain/built-once.ts'

const FETCH = { timeoutMs: 120_000 }
const VERSION_TIMEOUT_MS = 30_000

/**
 * The programs of a package of Debian and Ubuntu, given by their paths there: those on the PATH, or else of the
 * package, which is fetched once and not installed. Throws a Failure where neither can be had.
 */
export async function findPrograms<Name extends string>(packageName: string, paths: Record<Name, string>) {
  const names = Object.keys(paths) as Name[]
  const each = (pathOf: (name: Name) => string) =>
    Object.fromEntries(names.map((name) => [name, pathOf(name)])) as Record<Name, string>
  if ((await Promise.all(names.map(isOnPath))).every(Boolean)) return each((name) => name)
  const advice = `Install ${packageName}, so that ${names.join(' and ')} can be found on the PATH.`
  const folder = await builtOnce(packageName, [], FETCH, async (dir, run) => {
    await run('apt-get', ['download', '-qq', packageName], { cwd: dir, advice })
    const [file = ''] = readdirSync(dir)
    await run('dpkg', ['-x', file, '.'], { cwd: dir, advice })
  })
  return each((name) => join(folder, paths[name]))
}

const isOnPath = async (program: string) =>
  !(await runCommand(program, ['--version'], { timeoutMs: VERSION_TIMEOUT_MS })).missing
