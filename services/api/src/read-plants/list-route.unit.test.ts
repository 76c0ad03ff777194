import type { Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { encodeCursor, firstCursor } from './cursor.ts'
import { parsePageQuery } from './list-route.ts'

const parse = (query: object) => parsePageQuery(query, 2)

it('the query of a list has a limit from 1 to 1000 and a cursor of a page, by default the first 100 plants', () => {
  expect(parse({})).toEqual({ limit: 100, cursor: firstCursor(2) })
  const cursor = { partition: 1 as Partition, listed: [3, 4] }
  for (const limit of [1, 9, 10, 999, 1_000])
    expect(parse({ limit: `${limit}`, cursor: encodeCursor(cursor) })).toEqual({ limit, cursor })
  for (const limit of [
    ...['', '0', '1001', '10000', '-1', '+1', '01', '1.0', '1e2', '0x1', ' 1', '1\n', 'ten', '١', '１'],
    ...[['1', '2'], ['1', '1'], []],
  ])
    expect(() => parse({ limit }), String(limit)).toThrow(expect.objectContaining({ failure: 'invalidLimit' }))
  const valid = encodeCursor(firstCursor(2))
  for (const cursor of ['', 'x', `${valid}=`, [valid, valid], [valid]])
    expect(() => parse({ cursor }), String(cursor)).toThrow(expect.objectContaining({ failure: 'invalidCursor' }))
})
