import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

const PROCESS = `
  import { connectionsPermitted } from '${new URL('file-descriptors.ts', import.meta.url).href}'
  const warnings = []
  const permitted = connectionsPermitted(Number(process.env.CONNECTIONS_MAX), { warn: (text) => warnings.push(text) })
  console.log(JSON.stringify({ permitted, warnings }))
`

function permittedWith(descriptors: number, connectionsMax: number) {
  const command = `ulimit -n ${descriptors} && exec '${process.execPath}' --input-type=module --eval "$SCRIPT"`
  const env = { ...process.env, SCRIPT: PROCESS, CONNECTIONS_MAX: String(connectionsMax) }
  const { stdout } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8' })
  return JSON.parse(stdout)
}

it('as many connections are permitted as descriptors are left by everything else', () => {
  expect(permittedWith(1_000, 744)).toEqual({ permitted: 744, warnings: [] })
  expect(permittedWith(90, 45)).toEqual({ permitted: 45, warnings: [] })
})

it('when these are fewer than CONNECTIONS_MAX, the log says what to change', () => {
  expect(permittedWith(1_000, 745)).toEqual({
    permitted: 744,
    warnings: [
      'CONNECTIONS_MAX is 745, but with 1000 file descriptors this process accepts at most 744 connections: ' +
        'raise the limit of open files (ulimit -n) to 1001, or lower CONNECTIONS_MAX',
    ],
  })
})
