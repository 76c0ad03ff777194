import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

/** Its only thread for files is busy when it logs. */
const PROCESS = `
  import { pbkdf2 } from 'node:crypto'
  import { openLogStream } from '${new URL('log-stream.ts', import.meta.url).href}'
  pbkdf2('', '', 1_000_000, 64, 'sha512', () => {})
  const stream = openLogStream('test')
  for (const line of ['first', 'second', 'last']) stream.write(line + '\\n')
  await stream.flush(1_000)
  process.exit(0)
`

it('a file has the lines of a process that exits, in their order', () => {
  const folder = mkdtempSync(join(tmpdir(), 'log-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'log')
  const file = openSync(path, 'a')
  onTestFinished(() => closeSync(file))
  const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', PROCESS], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    stdio: ['ignore', file, 'inherit'],
  })
  expect(status).toBe(0)
  expect(readFileSync(path, 'utf8').split('\n')).toEqual(['first', 'second', 'last', ''])
})
