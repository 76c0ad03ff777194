import type { Partition } from '@plant-store/shared/plant/position.ts'
import { describe, expect, it } from 'vitest'
import { encodeCursor, firstCursor } from './cursor.ts'
import { parsePageQuery } from './list-route.ts'

const PARTITIONS = 2

describe('the query of a list', () => {
  it('has a limit from 1 to 1000 and a cursor of a page, by default the first 100 plants', () => {
    expect(parsePageQuery({}, PARTITIONS)).toEqual({ limit: 100, cursor: firstCursor(PARTITIONS) })
    const cursor = { partition: 1 as Partition, listed: [3, 4] }
    for (const limit of [1, 9, 10, 999, 1_000])
      expect(parsePageQuery({ limit: `${limit}`, cursor: encodeCursor(cursor) }, PARTITIONS)).toEqual({ limit, cursor })
  })

  it.each([
    ...['', '0', '1001', '9999', '10000', '-1', '+1', '01', '1.5', '1.0', '1e2', '0x1', ' 1', '1 ', '1\n', 'true'],
    ...['null', 'ten', '١', '１', ['1', '2'], ['1', '1'], []],
  ])('refuses the limit %j', (limit) => {
    expect(() => parsePageQuery({ limit }, PARTITIONS)).toThrow(expect.objectContaining({ failure: 'invalidLimit' }))
  })

  const valid = encodeCursor(firstCursor(PARTITIONS))
  it.each(['', '0', 'x', `${valid}=`, [valid, valid], [valid]])('refuses the cursor %j', (cursor) => {
    expect(() => parsePageQuery({ cursor }, PARTITIONS)).toThrow(expect.objectContaining({ failure: 'invalidCursor' }))
  })
})
