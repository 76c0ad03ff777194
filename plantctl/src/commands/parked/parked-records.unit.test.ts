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
      const found = runs.flatMap(({ reasons }) => [...reasons].map(([offset, reason]) => ({ offset, reason })))
      expect(found).toEqual(records)
      for (const [n, { from, end, reasons }] of runs.entries()) {
        const offsets = [...reasons.keys()]
        expect([from.offset + 1, end]).toEqual([offsets[0], (offsets.at(-1) ?? 0) + 1])
        for (const [m, offset] of offsets.slice(1).entries()) {
          expect(offset - (offsets[m] ?? 0) - 1).toBeLessThanOrEqual(gapMax)
        }
        const next = runs[n + 1]
        if (next !== undefined) expect(next.from.offset + 1 - end).toBeGreaterThan(gapMax)
      }
    }),
  )
})
