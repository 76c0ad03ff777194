import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

const MODULE = new URL('log-stream.ts', import.meta.url).href

/** Runs a script whose stdout is a file, by a shell command. Returns its exit code, its stderr and the file's lines. */
function run(script: string, { command = 'exec "$NODE"', env = {} } = {}) {
  const path = join(temporaryFolder(), 'log')
  const file = openSync(path, 'a')
  onTestFinished(() => closeSync(file))
  const { status, stderr } = spawnSync('sh', ['-c', `${command} --input-type=module --eval "$SCRIPT"`], {
    env: { ...process.env, NODE: process.execPath, SCRIPT: script, FILE: path, ...env },
    stdio: ['ignore', file, 'pipe'],
    encoding: 'utf8',
  })
  return { status, stderr, lines: readFileSync(path, 'utf8').split('\n') }
}

it('a file has the lines of a process that exits, in their order', () => {
  // Its only thread for files is busy when it logs.
  const script = `
    import { pbkdf2 } from 'node:crypto'
    import { openLogStream } from '${MODULE}'
    pbkdf2('', '', 1_000_000, 64, 'sha512', () => {})
    const stream = openLogStream('test')
    for (const line of ['first', 'second', 'last']) stream.write(line + '\\n')
    await stream.flush(1_000)
    process.exit(0)
  `
  const { status, lines } = run(script, { env: { UV_THREADPOOL_SIZE: '1' } })
  expect(status).toBe(0)
  expect(lines).toEqual(['first', 'second', 'last', ''])
})

it('lines for which a file has no room are dropped and counted', () => {
  const script = `
    import { statSync, truncateSync } from 'node:fs'
    import { openLogStream } from '${MODULE}'
    const stream = openLogStream('test')
    for (const letter of 'abcdefgh') stream.write(letter.repeat(399) + '\\n')
    console.error(statSync(process.env.FILE).size)
    truncateSync(process.env.FILE, 600)
    for (const line of ['first', 'second']) stream.write(line + '\\n')
  `
  const { status, stderr, lines } = run(script, { command: 'ulimit -f 2 && exec "$NODE"' })
  expect(status).toBe(0)
  // The unit of ulimit depends on the shell.
  const dropped = 8 - Math.floor(Number(stderr) / 400)
  expect(dropped).toBeGreaterThan(1)
  expect(lines).toEqual([
    'a'.repeat(399),
    'b'.repeat(200),
    expect.stringContaining(`"name":"test","msg":"${dropped} log lines were dropped: stdout could not be written"`),
    'first',
    'second',
    '',
  ])
})

it('a pipe that nobody reads delays neither a process nor its end', async () => {
  const script = `
    import { openLogStream } from '${MODULE}'
    const stream = openLogStream('test')
    for (let n = 0; n < 20_000; n++) stream.write('x'.repeat(999) + '\\n')
    await stream.flush(100)
    process.exit(0)
  `
  const args = ['--input-type=module', '--eval', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  expect(await once(child, 'exit')).toEqual([0, null])
})
