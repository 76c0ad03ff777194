import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TransientMap } from './transient-map.ts'

const keys = fc.oneof(fc.bigInt({ min: -2n, max: 3n }), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
const stepLists = fc.array(
  fc.oneof(
    fc.record({ does: fc.constant('set' as const), key: keys, value: fc.nat() }),
    fc.record({ does: fc.constant('delete' as const), key: keys }),
    fc.record({ does: fc.constant('clear' as const) }),
  ),
)

const sorted = (values: Iterable<number>) => [...values].sort((a, b) => a - b)

describe('TransientMap', () => {
  it('has the same entries as a Map after the same calls', () => {
    fc.assert(
      fc.property(stepLists, (steps) => {
        const [map, model] = [new TransientMap<bigint, number>(2), new Map<bigint, number>()]
        for (const step of steps) {
          if (step.does === 'set') {
            map.set(step.key, step.value)
            model.set(step.key, step.value)
          } else if (step.does === 'delete') expect(map.delete(step.key)).toBe(model.delete(step.key))
          else {
            map.clear()
            model.clear()
          }
          expect(map.size).toBe(model.size)
          expect(sorted(map.values())).toEqual(sorted(model.values()))
        }
        for (const step of steps) {
          if (step.does === 'clear') continue
          expect(map.has(step.key)).toBe(model.has(step.key))
          expect(map.get(step.key)).toBe(model.get(step.key))
        }
        const seen: number[] = []
        map.forEach((value) => void seen.push(value))
        expect(sorted(seen)).toEqual(sorted(model.values()))
      }),
    )
  })

  it('iterates over a snapshot, also when the callback deletes entries', () => {
    const map = new TransientMap<number, string>().set(1, 'a').set(2, 'b').set(3, 'c')
    const seen: string[] = []
    map.forEach((value) => {
      seen.push(value)
      map.clear()
    })
    expect(new Set(seen)).toEqual(new Set(['a', 'b', 'c']))
    expect(map.size).toBe(0)
  })
})
