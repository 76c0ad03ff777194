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
  return { missing: async (asked: Iterable<bigint>) => [...asked].filter((id) => !plants.has(id)) }
}

describe('a run', () => {
  it('stands when all that was acknowledged is there, also with more', async () => {
    await fc.assert(
      fc.asyncProperty(ids, ids, async (acknowledged, more) => {
        await checkRun(keeping([...acknowledged, ...more]), [load(acknowledged)])
      }),
    )
  })

  it('fails when one plant that was acknowledged is not there, in whichever of its loads, and says which', async () => {
    await fc.assert(
      fc.asyncProperty(ids, ids, fc.nat(), async (first, second, choice) => {
        const all = [...new Set([...first, ...second])]
        const lost = all[choice % all.length] as bigint
        const kept = keeping(all.filter((id) => id !== lost))
        await expect(checkRun(kept, [load(first), load(second)])).rejects.toThrow(`are not there: ${lost}`)
      }),
    )
  })

  it('fails when something was answered that should not be, though all that was acknowledged is there', async () => {
    const odd = new Map([['status 503', 3]])
    await expect(checkRun(keeping([7n]), [load([7n], odd)])).rejects.toThrow('3 × status 503')
  })

  it('fails when nothing was created', async () => {
    await expect(checkRun(keeping([]), [load([])])).rejects.toThrow('nothing was created')
  })

  it('of a contender that keeps nothing, and says so, stands', async () => {
    await checkRun({ missing: async () => undefined }, [load([7n])])
  })
})
