import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { PreconditionError } from './failures.ts'
import type { Log } from './log.ts'
import { filesOfConnections, openReloaded, type ReadFiles } from './reloaded.ts'
import { assertFilesRespond } from './setting-files.ts'

type Files = ReadFiles<string>

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
  expect(reloaded.problems()).toEqual(errors)
  hung.resolve('second')
  await eventually(() => expect(reloaded.current()).toBe('second'))
  expect(reloaded.problems()).toEqual([])
})

it('files that a connection needs are those of before while their read hangs, and then the new ones', async () => {
  const hung = Promise.withResolvers<string>()
  let reads = 0
  const read = () => {
    reads++
    return hung.promise
  }
  const [first, second] = ['one', 'other'].map((what) => filesOfConnections(what, 'old', read)) as [Files, Files]
  const reasons: string[] = []
  const renew = ({ renew }: Files) => renew((reason) => reasons.push(reason))
  expect(await Promise.all([renew(first), renew(first), renew(second)])).toEqual(['old', 'old', 'old'])
  expect(reasons).toEqual(
    ['one', 'other'].map((what) => expect.stringMatching(`the ${what} could not be read within 500 ms.*stays in use`)),
  )
  // Each one that hangs blocks a thread.
  expect(reads).toBe(1)
  hung.resolve('new')
  expect(await Promise.all([renew(first), renew(second)])).toEqual(['new', 'new'])
})

it('files that do not respond at the start are a wrong setting; other faults are reported later', async () => {
  const hung = () => new Promise<never>(() => {})
  await expect(assertFilesRespond({}, 1, hung)).rejects.toThrow(PreconditionError)
  await assertFilesRespond({ A_FILE: '/nowhere' })
})
