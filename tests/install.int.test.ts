import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { startProcess } from '../local/processes/process.ts'
import { ensureInstalled, remedyOf } from '../local/toolchain/prepare.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

afterEach(() => void vi.unstubAllEnvs())

/** A folder with a package of which this dependency is not installed, as its lockfile says. */
function incompletePackage(kind: 'dependencies' | 'devDependencies' | 'optionalDependencies', locked: object) {
  const folder = join(temporaryFolder(), 'Gärten İ')
  const root = { name: 'x', [kind]: { tool: 'file:tool' } }
  const tool = { name: 'tool', version: '1.0.0' }
  const link = { resolved: 'tool', link: true, ...locked }
  const packages = { '': root, 'node_modules/tool': link, tool: { ...tool, ...locked } }
  mkdirSync(join(folder, 'tool'), { recursive: true })
  writeFileSync(join(folder, 'tool', 'package.json'), JSON.stringify(tool))
  writeFileSync(join(folder, 'package.json'), JSON.stringify(root))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ name: 'x', lockfileVersion: 3, packages }))
  return folder
}

it('packages are not replaced while a service runs from their folder', async () => {
  const folder = incompletePackage('dependencies', {})
  const src = join(folder, 'services', 'projector', 'src')
  const [main, kept] = [join(src, 'main.ts'), join(folder, 'node_modules', 'kept.js')]
  for (const file of [main, kept]) {
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, 'setInterval(() => {}, 1000)')
  }
  vi.stubEnv('LC_ALL', 'C')
  const command = { name: 'projector', command: process.execPath, args: [main], logFile: join(folder, 'log') }
  const service = await startProcess(command)

  await expect(ensureInstalled({ dev: true, folder })).rejects.toThrow(`(pid ${service.pid})`)
  expect(existsSync(kept)).toBe(true)
  await service.stop({ graceMs: 0 })
})

const here = { os: [process.platform], cpu: [process.arch] }

it.each([
  ['for development', 'devDependencies', { dev: true }],
  ['for this platform', 'optionalDependencies', { ...here, optional: true }],
] as const)('packages %s are installed, whatever npm omits', async (_what, kind, locked) => {
  const folder = incompletePackage(kind, locked)
  vi.stubEnv('NODE_ENV', 'production')
  vi.stubEnv('npm_config_omit', 'optional')
  await ensureInstalled({ dev: true, folder })
  expect(existsSync(join(folder, 'node_modules', 'tool', 'package.json'))).toBe(true)
})

it('an installation that cannot write names the folder', () => {
  const output =
    'npm error code EROFS\nnpm error syscall mkdir\nnpm error path /home/ada/.npm\nnpm error errno EROFS\nnpm error\n'
  expect(remedyOf(output)).toContain('npm cannot use /home/ada/.npm (EROFS)')
  expect(remedyOf('npm error code E404\nnpm error 404 Not Found')).toContain('registry')
})

it('an installation that npm calls successful, but has not completed, fails: so it is on a full disk', async () => {
  const folder = incompletePackage('devDependencies', { dev: true })
  symlinkSync('/bin/true', join(folder, 'npm'))
  vi.stubEnv('PATH', folder)
  await expect(ensureInstalled({ dev: true, folder })).rejects.toThrow('free space')
})
