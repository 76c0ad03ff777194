import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkRun } from './check.ts'

const ids = fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), { minLength: 1, maxLength: 50 })
const load = (acknowledged: readonly bigint[], unexpected: ReadonlyMap<string, number> = new Map()) => ({
  ...{ acknowledged: BigUint64Array.from(acknowledged), unexpected },
})
/** A contender that has these plants. */
const keeping = (kept: readonly bigint[]) => ({
  missing: async (acknowledged: Iterable<bigint>) => [...acknowledged].filter((id) => !kept.includes(id)),
})

it('a run is valid when all acknowledged plants are stored; otherwise the missing one is named', async () => {
  await fc.assert(
    fc.asyncProperty(ids, ids, fc.nat(), async (first, second, choice) => {
      const all = [...new Set([...first, ...second])]
      const lost = all[choice % all.length] as bigint
      const run = checkRun(keeping(all.filter((id) => id !== lost)), [load(first), load(second)])
      await expect(run).rejects.toThrow(`are missing: ${lost}`)
      await checkRun(keeping(all), [load(first)])
    }),
  )
})

it('a run fails on an unexpected response, and when nothing was created', async () => {
  await expect(checkRun(keeping([7n]), [load([7n], new Map([['status 503', 3]]))])).rejects.toThrow('3 × status 503')
  await expect(checkRun(keeping([]), [load([])])).rejects.toThrow('nothing was created')
})
