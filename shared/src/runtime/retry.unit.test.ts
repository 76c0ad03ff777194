import { expect, it } from 'vitest'
import { PreconditionError } from './failures.ts'
import { createBackOff, eachApart } from './retry.ts'

it('doubles the wait after each failure, up to the limit, and starts again after a success', () => {
  const backOff = createBackOff({ firstMs: 100, longestMs: 500 })
  const next = (count: number) => Array.from({ length: count }, backOff.nextMs)
  expect(next(5)).toEqual([100, 200, 400, 500, 500])
  backOff.reset()
  expect(next(2)).toEqual([100, 200])
})

it('an item that hangs delays no other', async () => {
  const [hanging, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const all = eachApart([hanging.promise, Promise.resolve()], (item) => item.then(reached.resolve))
  await reached.promise
  hanging.resolve()
  await all
})

it.each([
  ['the first error', [new Error('one'), undefined, new Error('two')], 'one'],
  ['a PreconditionError before others', [new Error('one'), new PreconditionError('two'), undefined], 'two'],
])('throws %s when the work for all items has ended', async (_what, outcomes, message) => {
  let ended = 0
  const work = async (error: Error | undefined) => {
    await Promise.resolve().finally(() => ended++)
    if (error !== undefined) throw error
  }
  await expect(eachApart(outcomes, work)).rejects.toThrow(message)
  expect(ended).toBe(outcomes.length)
})
