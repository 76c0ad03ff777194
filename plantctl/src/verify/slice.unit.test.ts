import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import { plantIds } from '../../../tests/support/generated-plants.ts'
import { isIn, ofSlice, slicesFor, slicesOf } from './slice.ts'

const counts = fc.integer({ min: 1, max: 7 })

it('each id is in one slice', () => {
  fc.assert(
    fc.property(plantIds, counts, (id, count) => {
      expect(slicesOf(count).filter((slice) => isIn(slice, id))).toHaveLength(1)
    }),
  )
})

it('ids that follow one another spread over all slices', () => {
  for (const count of [2, 3, 7, 8]) {
    for (const slice of slicesOf(count)) {
      const held = Array.from({ length: 8_000 }, (_, n) => BigInt(n)).filter((id) => isIn(slice, id as never))
      expect(held.length).toBeGreaterThan((8_000 / count) * 0.9)
      expect(held.length).toBeLessThan((8_000 / count) * 1.1)
    }
  }
})

it('the folds of all slices are together the fold of the log', () => {
  fc.assert(
    fc.property(logs, counts, (batches, count) => {
      const records = batches.flatMap((batch) => batch.records)
      const whole = fold(emptyPartition(), records)
      const folds = slicesOf(count).map((slice) => fold(emptyPartition(), ofSlice(slice, records)))
      const byOffset = <T>(of: (state: typeof whole) => Iterable<T>) =>
        folds.flatMap((state) => [...of(state)])
      const plants = byOffset(({ plants: found }) => found.values())
      expect(plants.sort((one, other) => one.offset - other.offset)).toEqual([...whole.plants.values()])
      const parked = byOffset((state) => state.parked).sort(([one], [other]) => one - other)
      expect(parked).toEqual([...whole.parked])
      expect(folds.reduce((sum, { voids }) => sum + voids, 0)).toBe(whole.voids)
    }),
  )
})

it('there are as many as it takes, and at least one', () => {
  expect([0, 1, 10, 11, 20, 21].map((records) => slicesFor(records, 10))).toEqual([1, 1, 1, 2, 2, 3])
})
