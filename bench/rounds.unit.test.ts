import fc from 'fast-check'
import { expect, it } from 'vitest'
import { orderOf } from './rounds.ts'

it('over as many rounds as there are rows, each row has each place once', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { maxLength: 10 }), fc.nat({ max: 1_000 }), (rows, from) => {
      const rounds = rows.map((_, n) => orderOf(rows, from + n))
      for (const order of rounds) expect(order.toSorted()).toEqual(rows.toSorted())
      for (const row of rows) {
        const places = rounds.map((order) => order.indexOf(row))
        expect(places.toSorted((a, b) => a - b)).toEqual(rows.map((_, place) => place))
      }
    }),
  )
})
