import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import { inSlices, isIn, ofSlice, slicesOf } from './slice.ts'

it.each([2, 3, 7, 8])('spreads consecutive ids over all of %d slices', (count) => {
  for (const slice of slicesOf(count)) {
    const ids = Array.from({ length: 8_000 }, (_, n) => BigInt(n)).filter((id) => isIn(slice, id as never))
    expect(Math.abs(ids.length - 8_000 / count)).toBeLessThan(800 / count)
  }
})

it('gives the fold of the log when the folds of all slices are merged', () => {
  fc.assert(
    fc.property(logs, fc.integer({ min: 1, max: 7 }), (batches, count) => {
      const records = batches.flatMap((batch) => batch.records)
      const whole = fold(emptyPartition(), records)
      const folds = slicesOf(count).map((slice) => fold(emptyPartition(), ofSlice(slice, records)))
      const byOffset = <T>(of: (state: typeof whole) => Iterable<T>) => folds.flatMap((state) => [...of(state)])
      const plants = byOffset(({ plants: found }) => found.values())
      expect(plants.sort((one, other) => one.offset - other.offset)).toEqual([...whole.plants.values()])
      const parked = byOffset((state) => state.parked).sort(([one], [other]) => one - other)
      expect(parked).toEqual([...whole.parked])
      expect(folds.reduce((sum, { voids }) => sum + voids, 0)).toBe(whole.voids)
    }),
  )
})

it('groups all partitions in order, as large as possible within the bound; a larger one gets slices', () => {
  const MAX = 100
  fc.assert(
    fc.property(fc.array(fc.nat(350), { maxLength: 20 }), (records) => {
      const groups = inSlices(allPartitions(records.length), records, MAX)
      expect(groups.flatMap(({ group }) => group)).toEqual(allPartitions(records.length))
      const sums = groups.map(({ group }) => group.reduce((sum, p) => sum + (records[p] as number), 0))
      for (const [n, { group, slices }] of groups.entries()) {
        const sum = sums[n] as number
        expect(group.length).toBeGreaterThan(0)
        if (group.length > 1) expect(sum).toBeLessThanOrEqual(MAX)
        expect(slices).toEqual(slicesOf(Math.max(1, Math.ceil(sum / MAX))))
        const next = groups[n + 1]?.group[0]
        if (next !== undefined) expect(sum + (records[next] as number)).toBeGreaterThan(MAX)
      }
    }),
  )
})
