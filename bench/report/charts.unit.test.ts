import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { apart } from './charts/latencies.ts'
import { linesTo, powersAround } from './charts/scale.ts'
import { chartsOf } from './charts.ts'
import { results } from './generated-results.ts'
import { microsOf } from './tables.ts'

const value = fc.double({ min: 1e-3, max: 1e9, noNaN: true })
type Box = { x: number; y: number; width: number; figure: string }

/** The segments of the bars in a chart: the rectangles with a title. */
function boxesOf(chart: string): Box[] {
  const boxes = chart.matchAll(/<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.-]+)"[^>]*><title>(.*?)<\/title>/g)
  return [...boxes].map(([, x, y, width, figure = '']) => ({
    x: Number(x),
    y: Number(y),
    width: Number(width),
    figure,
  }))
}

describe('charts', () => {
  it('have a title and a description, and no invalid coordinate', () => {
    fc.assert(
      fc.property(results, (measured) => {
        const charts = chartsOf(measured)
        expect([...charts.keys()]).toEqual(['creates.svg', 'cpu.svg', 'latency.svg'])
        for (const chart of charts.values()) {
          expect(chart).toMatch(/<title id="title">.+<\/title>/)
          for (const { name } of measured.openLoad)
            expect(/<desc id="desc">(.*)<\/desc>/.exec(chart)?.[1]).toContain(name)
          expect(chart).not.toMatch(/NaN|undefined|Infinity/)
        }
      }),
    )
  })

  it('draw the CPU of each process as long as it is, one behind the other', () => {
    fc.assert(
      fc.property(results, (measured) => {
        const boxes = boxesOf(chartsOf(measured).get('cpu.svg') ?? '')
        const bars = measured.creates.map(({ name }) => boxes.filter(({ figure }) => figure.startsWith(`${name}, `)))
        const longest = Math.max(...boxes.map(({ width }) => width))
        const micros = measured.creates.flatMap(({ runs }) =>
          Object.keys(runs[0]?.cpuMicros ?? {}).map((process) => microsOf(runs, process) ?? 0),
        )
        const scale = longest / Math.max(...micros)
        for (const [n, { runs }] of measured.creates.entries()) {
          const processes = Object.keys(runs[0]?.cpuMicros ?? {})
          expect(bars[n]).toHaveLength(processes.length)
          for (const [at, process] of processes.entries()) {
            const box = bars[n]?.[at] as Box
            // Coordinates are rounded to a tenth.
            expect(Math.abs(box.width - (microsOf(runs, process) ?? 0) * scale)).toBeLessThan(0.3)
            const before = bars[n]?.[at - 1]
            if (before !== undefined) expect(Math.abs(before.x + before.width - box.x)).toBeLessThan(0.2)
          }
        }
      }),
    )
  })
})

describe('an axis', () => {
  it('reaches the largest value with few lines, a step of 1, 2 or 5 apart', () => {
    fc.assert(
      fc.property(value, (max) => {
        const lines = linesTo(max, 6)
        expect(lines.at(-1)).toBeGreaterThanOrEqual(max * (1 - 1e-9))
        expect(lines.length).toBeLessThanOrEqual(8)
        const step = (lines[1] as number) - (lines[0] as number)
        expect([1, 2, 5, 10]).toContain(Math.round((step / 10 ** Math.floor(Math.log10(step * 1.0001))) * 10) / 10)
      }),
    )
  })

  it('of powers has all values in it', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1 }), (all) => {
        const lines = powersAround(all)
        expect(Math.min(...lines)).toBeLessThanOrEqual(Math.min(...all) * (1 + 1e-9))
        expect(Math.max(...lines)).toBeGreaterThanOrEqual(Math.max(...all) * (1 - 1e-9))
        expect(lines.length).toBeGreaterThanOrEqual(2)
      }),
    )
  })

  it('has labels that never overlap, in the order of what they label', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: 300 }), { maxLength: 6 }), (places) => {
        const moved = apart(places)
        const order = [...places.keys()].sort((a, b) => (places[a] as number) - (places[b] as number))
        const inOrder = order.map((index) => moved[index] as number)
        expect(inOrder.every((place, n) => n === 0 || place - (inOrder[n - 1] as number) >= 20)).toBe(true)
        expect(moved.every((place, n) => place >= (places[n] as number))).toBe(true)
      }),
    )
  })
})
