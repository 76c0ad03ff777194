import { FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { addDifference, addFindings, type Difference, noFindings } from '../verify/difference.ts'
import { remediesOf } from './verify.ts'

const [ONE, OTHER] = [0 as Partition, 1 as Partition]
const partitions = [ONE, OTHER].map((partition) => ({ partition, generation: 'a', upTo: FIRST, end: FIRST, plants: 1 }))

/** The remedies for differences, of which only the first one is listed. */
function remediesFor(...differences: Difference[]): string {
  const [some, all] = [noFindings(), noFindings()]
  for (const difference of differences) addDifference(some, difference, 1)
  addFindings(all, some)
  expect([all.listed.length, all.more]).toEqual([1, differences.length - 1])
  return remediesOf({ partitions, findings: all }, 3).join('\n')
}

it('names every partition that differs, and no other, however many differences are listed', () => {
  const missing: Difference = { partition: ONE, generation: 'a', what: 'orderMissing', id: '7' }
  expect(remediesFor(missing)).toMatch(/rebuild --partition 0$/)
  expect(remediesFor(missing, missing, { ...missing, partition: OTHER })).toMatch(/--partition 0 --partition 1$/)
  expect(remediesFor(missing, { what: 'strangeKey', found: 'x' })).toMatch(/--partition 0\nKeys that belong to nothing/)
})

it.each<[what: string, Difference, fromEmpty: boolean]>([
  ['nothing is live', { what: 'noGeneration' }, true],
  ['the live pointer is dangling', { what: 'pointerDangling', key: 'live', found: 'a' }, true],
  ['a key has the wrong type', { what: 'wrongType', key: 'meta', expected: 'hash', found: 'string' }, true],
  ['the checkpoint is not an offset', { what: 'checkpoint', found: 'x' }, false],
  ['a pointer to what is being filled is dangling', { what: 'pointerDangling', key: 'filling', found: 'a' }, false],
])('when %s, names the option that a rebuild needs', (_what, difference, fromEmpty) => {
  const filling: Difference = { partition: ONE, what: 'pointerDangling', key: 'filling', found: 'a' }
  const remedies = remediesFor(filling, { ...difference, partition: ONE })
  expect(remedies).toContain(`plantctl rebuild${fromEmpty ? ' --from-empty' : ''} --partition 0`)
  // Without it the rebuild itself could not read them.
  expect(remedies.startsWith('Delete the keys of the wrong type first')).toBe(difference.what === 'wrongType')
})
