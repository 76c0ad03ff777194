import { spawnSync } from 'node:child_process'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import fastify from 'fastify'
import { expect, it, onTestFinished, vi } from 'vitest'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { ApiSettings } from '../settings.ts'
import { createAdmission } from './admission.ts'

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

it('the limit of connections is never more than is permitted', () => {
  const report = { ...process.report.getReport(), userLimits: { open_files: { soft: 1_000 } } }
  const reported = vi.spyOn(process.report, 'getReport').mockReturnValue(report)
  onTestFinished(() => reported.mockRestore())
  const limitWith = (CONNECTIONS_MAX: string) => {
    const stores = { KAFKA_BROKERS: 'nowhere:1', REDIS_URL: 'redis://nowhere' }
    const settings = readSettings(ApiSettings, { ...stores, CONNECTIONS_MAX })
    return createAdmission(fastify(), () => undefined, settings, quietLog).connectionsMax
  }
  expect([limitWith('500'), limitWith('745')]).toEqual([500, 744])
})
