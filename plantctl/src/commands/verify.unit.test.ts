import { FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { addDifference, addFindings, type Difference, noFindings } from '../verify/difference.ts'
import { remediesOf } from './verify.ts'

const [ONE, OTHER] = [0 as Partition, 1 as Partition]
const partitions = [ONE, OTHER].map((partition) => ({ partition, generation: 'a', upTo: FIRST, end: FIRST, plants: 1 }))
const missing: Difference = { partition: ONE, generation: 'a', what: 'orderMissing', id: '7' }
const dangling: Difference = { partition: ONE, what: 'pointerDangling', key: 'filling', found: 'a' }

it.each<[string, Difference[], RegExp]>([
  ['one partition differs', [missing], /rebuild --partition 0$/],
  ['two differ', [missing, missing, { ...missing, partition: OTHER }], /rebuild --partition 0 --partition 1$/],
  [
    'there is a strange key',
    [missing, { what: 'strangeKey', found: 'x' }],
    /--partition 0\nKeys that belong to nothing/,
  ],
  ['nothing is live', [dangling, { partition: ONE, what: 'noGeneration' }], /--from-empty --partition 0$/],
  ['the live pointer is dangling', [dangling, { ...dangling, key: 'live' }], /--from-empty --partition 0$/],
  [
    // Without it the rebuild itself could not read them.
    'a key has the wrong type',
    [dangling, { partition: ONE, what: 'wrongType', key: 'meta', expected: 'hash', found: 'string' }],
    /^Delete the keys of the wrong type first.*\n.*--from-empty --partition 0$/,
  ],
  [
    'the checkpoint is not an offset',
    [dangling, { partition: ONE, what: 'checkpoint', found: 'x' }],
    /^To repair it from the log: plantctl rebuild --partition 0$/,
  ],
])('when %s, the remedy follows from all differences, however many are listed', (_what, differences, remedy) => {
  const [some, all] = [noFindings(), noFindings()]
  for (const difference of differences) addDifference(some, difference, 1)
  addFindings(all, some)
  expect([all.listed.length, all.more]).toEqual([1, differences.length - 1])
  expect(remediesOf({ partitions, findings: all }, 3).join('\n')).toMatch(remedy)
})
