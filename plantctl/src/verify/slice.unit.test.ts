import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import { inSlices, isIn, ofSlice, slicesOf } from './slice.ts'

const counts = fc.integer({ min: 1, max: 7 })

it('spreads consecutive ids over all slices', () => {
  for (const count of [2, 3, 7, 8]) {
    for (const slice of slicesOf(count)) {
      const ids = Array.from({ length: 8_000 }, (_, n) => BigInt(n)).filter((id) => isIn(slice, id as never))
      expect(ids.length).toBeGreaterThan((8_000 / count) * 0.9)
      expect(ids.length).toBeLessThan((8_000 / count) * 1.1)
    }
  }
})

it('gives the fold of the log when the folds of all slices are merged', () => {
  fc.assert(
    fc.property(logs, counts, (batches, count) => {
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

it('uses as many slices as needed, and at least one', () => {
  const slicesFor = (records: number) => inSlices(allPartitions(1), [records], 10)[0]?.slices
  expect([0, 1, 10, 11, 20, 21].map(slicesFor)).toEqual([1, 1, 1, 2, 2, 3].map(slicesOf))
})

it('groups all partitions in order, within the bound unless there is one in a group, as large as possible', () => {
  const MAX = 100
  fc.assert(
    fc.property(fc.array(fc.nat(150), { maxLength: 20 }), (records) => {
      const groups = inSlices(allPartitions(records.length), records, MAX).map(({ group }) => group)
      expect(groups.flat()).toEqual(allPartitions(records.length))
      const sums = groups.map((group) => group.reduce((sum, p) => sum + (records[p] as number), 0))
      for (const [n, group] of groups.entries()) {
        expect(group.length).toBeGreaterThan(0)
        if (group.length > 1) expect(sums[n]).toBeLessThanOrEqual(MAX)
        const next = groups[n + 1]?.[0]
        if (next !== undefined) expect((sums[n] as number) + (records[next] as number)).toBeGreaterThan(MAX)
      }
    }),
  )
})
