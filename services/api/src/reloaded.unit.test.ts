import type { Log } from '@plant-store/shared/runtime/log.ts'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { openReloaded } from './reloaded.ts'

it('files whose read hangs leave the previous content, and only one read waits for them', async () => {
  const errors: string[] = []
  const log = { ...quietLog, error: (text: string) => errors.push(text) } as unknown as Log
  const hung = Promise.withResolvers<string>()
  let reads = 0
  const read = () => (reads++ === 0 ? Promise.resolve('first') : hung.promise)
  const reloaded = await openReloaded({ what: 'file', read, log, everyMs: 1, withinMs: 20 })
  onTestFinished(reloaded.close)
  await eventually(() => expect(errors).toEqual([expect.stringMatching(/^the file could not be read within 20 ms/)]))
  expect([reloaded.current(), reads, errors.length]).toEqual(['first', 2, 1])
  hung.resolve('second')
  await eventually(() => expect(reloaded.current()).toBe('second'))
})
