import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

const MODULE = new URL('exit.ts', import.meta.url).href

/** The exit code and the output of a process that ends itself with 78 after this statement. */
async function exitAfter(statement: string) {
  const script = `
    import { open } from 'node:fs/promises'
    import { exitNow } from ${JSON.stringify(MODULE)}
    ${statement}
    setImmediate(() => exitNow(78))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += bytes))
  const [code] = await once(child, 'close')
  return { code, output }
}

it('a process ends with its code', async () => {
  expect(await exitAfter('')).toEqual({ code: 78, output: '' })
})

it('a process ends with its code although a file does not respond', async () => {
  const fifo = join(temporaryFolder(), 'fifo')
  execFileSync('mkfifo', [fifo])
  expect(await exitAfter(`void open(${JSON.stringify(fifo)})`)).toEqual({ code: 78, output: '' })
})
