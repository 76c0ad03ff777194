import { allPartitions } from '@plant-store/shared/plant/position.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { partitionGroups } from './partition-groups.ts'

const MAX = 100
const sizes = fc.array(fc.nat(150), { maxLength: 20 })
const groupsOf = (records: readonly number[]) =>
  partitionGroups(allPartitions(records.length), (partition) => records[partition] as number, MAX)

it('each partition is in one group, in order', () => {
  fc.assert(
    fc.property(sizes, (records) => {
      expect(groupsOf(records).flat()).toEqual(allPartitions(records.length))
    }),
  )
})

it('a group has no more than the bound, unless it is one partition; and no two neighbours would fit into one', () => {
  fc.assert(
    fc.property(sizes, (records) => {
      const groups = groupsOf(records)
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
