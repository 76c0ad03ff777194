import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { expect, it, onTestFinished } from 'vitest'
import { createDefaultApp } from '../../../../local/describe.ts'
import { eventually } from '../../../../tests/support/eventually.ts'
import { HttpError } from './errors.ts'

const REQUESTS = 50

it('failures that any client can cause at any rate have few lines at warn, the others at debug', async () => {
  const lines: { level: string; msg: string; failure: string }[] = []
  const app = await createDefaultApp({
    log: createLog('test', 'debug', { write: (line: string) => void lines.push(JSON.parse(line)) }),
    strategy: async (token) => {
      throw new HttpError(token === 'a' ? 'tokensUncheckable' : 'internal')
    },
  })
  onTestFinished(() => app.close())
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  for (const token of ['a', 'b']) {
    for (let n = 0; n < REQUESTS; n++)
      await fetch(`${address}/plants/1`, { headers: { authorization: `Bearer ${token}` } })
  }
  const failed = (failure: string) => lines.filter((line) => line.msg === 'request failed' && line.failure === failure)
  await eventually(() => expect(failed('internal')).toHaveLength(REQUESTS))
  expect(failed('tokensUncheckable')).toHaveLength(REQUESTS)
  const loud = lines.filter(({ level }) => level === 'warn')
  expect(loud.length).toBeGreaterThan(0)
  expect(loud.length).toBeLessThan(REQUESTS / 2)
})
