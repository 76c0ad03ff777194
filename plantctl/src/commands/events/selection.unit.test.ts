import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { describe, expect, it } from 'vitest'
import { UsageError } from '../../command.ts'
import type { LogPoint } from '../../store/log-point.ts'
import { type LogBounds, rangesOf, selectedPartitions } from './selection.ts'

const ALL = allPartitions(3)
const at = (partition: number, offset: number): LogPoint => ({
  is: 'positions',
  positions: new Map([[partition as Partition, offset as Offset]]),
})
const MOMENT: LogPoint = { is: 'moment', ms: 0 }
const partitions = (...some: number[]) => some as Partition[]

describe('the selected partitions', () => {
  it.each([
    ['are all when no option names one', undefined, undefined, [undefined, MOMENT], ALL],
    ['are those of --partition', partitions(0, 2), undefined, [], partitions(0, 2)],
    ['are the one of the id', undefined, partitions(1)[0], [], partitions(1)],
    ['are the one of a position', undefined, undefined, [at(2, 7), MOMENT], partitions(2)],
    ['are the one that all options name', partitions(2), partitions(2)[0], [at(2, 7), at(2, 9)], partitions(2)],
  ])('%s', (_what, named, ids, points, expected) => {
    expect(selectedPartitions(named, ids, points, ALL)).toEqual(expected)
  })

  it.each([
    ['the id is in another one', partitions(1), partitions(2)[0], []],
    ['a position is in another one', partitions(0, 2), undefined, [at(2, 7)]],
    ['two positions differ', undefined, undefined, [at(1, 7), at(2, 7)]],
  ])('are refused when %s', (_what, named, ids, points) => {
    expect(() => selectedPartitions(named, ids, points, ALL)).toThrow(UsageError)
  })
})

describe('the range of a partition', () => {
  const ends = [10, 20, 30] as Offset[]
  const shown = (bounds: { starts?: number[]; stops?: number[] }, query = {}, some: readonly Partition[] = ALL) => {
    const all = { starts: [], stops: [], ends, ...bounds } as object as LogBounds
    const ranges = rangesOf(some, all, { follow: false, id: undefined, ...query })
    return [...ranges.values()].map(({ from, end }) => `${from} to ${end ?? '…'}`)
  }

  it('is the whole log by default', () => {
    expect(shown({})).toEqual(['0 to 10', '0 to 20', '0 to 30'])
  })

  it('starts and stops at the given offsets, and ends with the log', () => {
    expect(shown({ starts: [1, 2, 30], stops: [4, 20, 99] })).toEqual(['1 to 4', '2 to 20', '30 to 30'])
    expect(shown({ starts: [0, 5], stops: [0, 8] }, {}, partitions(1))).toEqual(['5 to 8'])
  })

  it('starts at the end when the log is followed, unless --id or --from is given', () => {
    expect(shown({}, { follow: true })).toEqual(['10 to …', '20 to …', '30 to …'])
    expect(shown({}, { follow: true, id: 7n })[0]).toBe('0 to …')
    expect(shown({ starts: [0, 0, 3] }, { follow: true }, partitions(2))).toEqual(['3 to …'])
  })
})
