import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

it.each(['', 'void open(fifo)'])(
  'a process ends with its code, here after "%s": a FIFO does not respond',
  async (task) => {
    const fifo = join(temporaryFolder(), 'fifo')
    execFileSync('mkfifo', [fifo])
    const script = `
    import { open } from 'node:fs/promises'
    import { exitNow } from '${new URL('exit.ts', import.meta.url).href}'
    const fifo = '${fifo}'
    ${task}
    setImmediate(() => exitNow(78))`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += bytes))
    expect([...(await once(child, 'close')), output]).toEqual([78, null, ''])
  },
)
