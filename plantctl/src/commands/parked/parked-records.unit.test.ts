import { offsetOf } from '@plant-store/shared/plant/position.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runsOf } from './parked-records.ts'

const records = fc
  .uniqueArray(fc.nat(2_000), { maxLength: 60 })
  .map((offsets) => offsets.sort((a, b) => a - b).map((offset) => ({ offset: offsetOf(offset), reason: 1 })))

it('groups each record into one run, in order, with bounded gaps', () => {
  fc.assert(
    fc.property(records, fc.nat(300), (records, gapMax) => {
      const runs = runsOf(records, gapMax)
      expect(runs.flatMap(({ records }) => records)).toEqual(records)
      for (const [n, { from, end, records }] of runs.entries()) {
        expect([from, end]).toEqual([records[0]?.offset, (records.at(-1)?.offset ?? 0) + 1])
        for (const [m, { offset }] of records.slice(1).entries()) {
          expect(offset - (records[m]?.offset ?? 0) - 1).toBeLessThanOrEqual(gapMax)
        }
        expect((runs[n + 1]?.from ?? Number.POSITIVE_INFINITY) - end).toBeGreaterThan(gapMax)
      }
    }),
  )
})
