import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { UsageError } from '../../command.ts'
import type { LogPoint } from '../../store/log-point.ts'
import { rangesOf, selectedPartitions } from './selection.ts'

const ALL = allPartitions(3)
const at = (partition: number, offset: number): LogPoint => ({
  is: 'positions',
  positions: new Map([[partition as Partition, offset as Offset]]),
})
const MOMENT: LogPoint = { is: 'moment', ms: 0 }
const partitions = (...some: number[]) => some as Partition[]

it.each([
  ['all when no option names one', undefined, undefined, [undefined, MOMENT], ALL],
  ['those of --partition', partitions(0, 2), undefined, [], partitions(0, 2)],
  ['the one of the id', undefined, partitions(1)[0], [], partitions(1)],
  ['the one of a position', undefined, undefined, [at(2, 7), MOMENT], partitions(2)],
  ['the one that all options name', partitions(2), partitions(2)[0], [at(2, 7), at(2, 9)], partitions(2)],
  ['refused when the id is in another one', partitions(1), partitions(2)[0], [], undefined],
  ['refused when a position is in another one', partitions(0, 2), undefined, [at(2, 7)], undefined],
  ['refused when two positions differ', undefined, undefined, [at(1, 7), at(2, 7)], undefined],
])('the selected partitions are %s', (_what, named, ids, points, expected) => {
  const select = () => selectedPartitions(named, ids, points, ALL)
  if (expected === undefined) expect(select).toThrow(UsageError)
  else expect(select()).toEqual(expected)
})

it.each<[string, object, object, string[]]>([
  ['is the whole log by default', {}, {}, ['0 to 10', '0 to 20', '0 to 30']],
  [
    'starts and stops at the given offsets, and ends with the log',
    { starts: [1, 2, 30], stops: [4, 20, 99] },
    {},
    ['1 to 4', '2 to 20', '30 to 30'],
  ],
  ['starts at the end when the log is followed', {}, { follow: true }, ['10 to …', '20 to …', '30 to …']],
  ['is complete when one id is followed', {}, { follow: true, id: 7n }, ['0 to …', '0 to …', '0 to …']],
  ['starts at --from when it is followed', { starts: [0, 0, 3] }, { follow: true }, ['0 to …', '0 to …', '3 to …']],
])('the range of a partition %s', (_what, bounds, query, expected) => {
  const all = { starts: [], stops: [], ends: [10, 20, 30] as Offset[], ...bounds }
  const ranges = rangesOf(ALL, all, { follow: false, id: undefined, ...query })
  expect([...ranges.values()].map(({ from, end }) => `${from} to ${end ?? '…'}`)).toEqual(expected)
})
