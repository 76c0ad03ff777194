import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../../tests/support/eventually.ts'
import { createApp } from '../app.ts'
import { ApiSettings } from '../settings.ts'
import { HttpError } from './errors.ts'

const settings = readSettings(ApiSettings, { KAFKA_BROKERS: 'localhost:9092', REDIS_URL: 'redis://localhost' })
const REQUESTS = 50

it('failures that any client can cause at any rate have few lines at warn, the others at debug', async () => {
  const lines: { level: string; msg: string; failure: string }[] = []
  const { app } = await createApp({
    log: createLog('test', 'debug', { write: (line: string) => void lines.push(JSON.parse(line)) }),
    settings,
    partitions: 1,
    strategies: [
      async (token) => {
        throw new HttpError(token === 'a' ? 'tokensUncheckable' : 'internal')
      },
    ],
    creation: { create: async () => ({ is: 'coverageGap' }) },
    reader: { read: async () => ({ is: 'noSuchPlant' }) },
    lister: { list: async () => ({ is: 'page', claims: [], shown: new Map() }) },
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
