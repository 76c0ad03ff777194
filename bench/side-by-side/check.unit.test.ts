import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkRun } from './check.ts'

const ids = fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), { minLength: 1, maxLength: 50 })
const load = (acknowledged: readonly bigint[], unexpected: ReadonlyMap<string, number> = new Map()) => ({
  ...{ good: acknowledged.length, acknowledged: BigUint64Array.from(acknowledged), unexpected },
})
/** A contender that has these plants. */
const keeping = (kept: Iterable<bigint>) => {
  const plants = new Set(kept)
  return { missing: async (acknowledged: Iterable<bigint>) => [...acknowledged].filter((id) => !plants.has(id)) }
}

describe('a run', () => {
  it('is valid when all acknowledged plants are stored, also among others', async () => {
    await fc.assert(
      fc.asyncProperty(ids, ids, async (acknowledged, more) => {
        await checkRun(keeping([...acknowledged, ...more]), [load(acknowledged)])
      }),
    )
  })

  it('fails when an acknowledged plant of any load is missing, and names the plant', async () => {
    await fc.assert(
      fc.asyncProperty(ids, ids, fc.nat(), async (first, second, choice) => {
        const all = [...new Set([...first, ...second])]
        const lost = all[choice % all.length] as bigint
        const kept = keeping(all.filter((id) => id !== lost))
        await expect(checkRun(kept, [load(first), load(second)])).rejects.toThrow(`are missing: ${lost}`)
      }),
    )
  })

  it('fails on an unexpected response, even when all acknowledged plants are stored', async () => {
    const odd = new Map([['status 503', 3]])
    await expect(checkRun(keeping([7n]), [load([7n], odd)])).rejects.toThrow('3 × status 503')
  })

  it('fails when nothing was created', async () => {
    await expect(checkRun(keeping([]), [load([])])).rejects.toThrow('nothing was created')
  })

  it('of a contender without a store is valid', async () => {
    await checkRun({ missing: async () => undefined }, [load([7n])])
  })
})
