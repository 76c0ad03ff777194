import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

const PROCESS = `
  import fastify from 'fastify'
  import { createAdmission } from '${new URL('admission.ts', import.meta.url).href}'
  const warnings = []
  const settings = { REQUESTS_MAX: 1, CONNECTIONS_MAX: Number(process.env.CONNECTIONS_MAX) }
  const { connectionsMax } = createAdmission(fastify(), () => {}, settings, { warn: (text) => warnings.push(text) })
  console.log(JSON.stringify([connectionsMax, ...warnings]))
`

it.each([
  [1_000, 744, [744]],
  [90, 45, [45]],
  [
    ...[1_000, 745],
    [
      744,
      'CONNECTIONS_MAX is 745, but with 1000 file descriptors this process accepts at most 744 connections: ' +
        'raise the limit of open files (ulimit -n) to 1001, or lower CONNECTIONS_MAX',
    ],
  ] as [number, number, unknown[]],
])(
  'with %i descriptors and CONNECTIONS_MAX=%i, the limit of connections and its warning are %j',
  (descriptors, connectionsMax, expected) => {
    const command = `ulimit -n ${descriptors} && exec '${process.execPath}' --input-type=module --eval "$SCRIPT"`
    const env = { ...process.env, SCRIPT: PROCESS, CONNECTIONS_MAX: String(connectionsMax) }
    const { stdout } = spawnSync('sh', ['-c', command], { cwd: import.meta.dirname, env, encoding: 'utf8' })
    expect(JSON.parse(stdout)).toEqual(expected)
  },
)
