import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { orderOf } from './order.ts'

const rows = fc.uniqueArray(fc.string(), { maxLength: 10 })

describe('the order of a round', () => {
  it('has each row once', () => {
    fc.assert(
      fc.property(rows, fc.nat(), (all, round) => {
        expect(orderOf(all, round).toSorted()).toEqual(all.toSorted())
      }),
    )
  })

  it('gives each row each place once, over as many rounds as there are rows', () => {
    fc.assert(
      fc.property(rows, fc.nat({ max: 1_000 }), (all, from) => {
        const rounds = all.map((_, n) => orderOf(all, from + n))
        for (const row of all) {
          const places = rounds.map((order) => order.indexOf(row))
          expect(places.toSorted((a, b) => a - b)).toEqual(all.map((_, place) => place))
        }
      }),
    )
  })
})
