import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TransientMap } from './transient-map.ts'

const keys = fc.oneof(fc.bigInt({ min: -2n, max: 3n }), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
const stepLists = fc.array(
  fc.record({ does: fc.constantFrom('set', 'set', 'set', 'delete', 'delete', 'clear'), key: keys, value: fc.nat() }),
)

const sorted = (values: Iterable<number>) => [...values].sort((a, b) => a - b)

it('has the same entries as a Map after the same calls, and iterates over a snapshot', () => {
  fc.assert(
    fc.property(stepLists, (steps) => {
      const [map, model] = [new TransientMap<bigint, number>(2), new Map<bigint, number>()]
      for (const { does, key, value } of steps) {
        if (does === 'set') {
          map.set(key, value)
          model.set(key, value)
        } else if (does === 'delete') expect(map.delete(key)).toBe(model.delete(key))
        else {
          map.clear()
          model.clear()
        }
        expect(map.size).toBe(model.size)
        expect(sorted(map.values())).toEqual(sorted(model.values()))
      }
      for (const { key } of steps) {
        expect(map.has(key)).toBe(model.has(key))
        expect(map.get(key)).toBe(model.get(key))
      }
      const seen: number[] = []
      map.forEach((value) => {
        seen.push(value)
        map.clear()
      })
      expect(sorted(seen)).toEqual(sorted(model.values()))
      expect(map.size).toBe(0)
    }),
  )
})
