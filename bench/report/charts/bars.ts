import { box, GRID, INK, line, QUIET, svg, text } from './drawing.ts'
import { linesTo } from './scale.ts'

export type Bar = {
  label: string
  /** What it is made of, from the left. */
  segments: readonly { name: string; value: number }[]
  /** What is written behind it. */
  figure: string
  /** How far the rounds were apart. */
  range?: { min: number; max: number }
}

export type BarChart = {
  title: string
  /** Of all values. */
  unit: string
  bars: readonly Bar[]
  /** A colour for each name of a segment; a legend when there are several. */
  colours: ReadonlyMap<string, string>
}

const WIDTH = 860
const PLOT = { left: 264, width: 460, top: 92 }
const ROW = 40
const BAR = 22
const BELOW = 34
const AXIS_LINES = 6
const LEGEND_STEP = 110

/** Horizontal bars from 0, one below the other. */
export function barChart({ title, unit, bars, colours }: BarChart): string {
  const sum = ({ segments }: Bar) => segments.reduce((all, { value }) => all + value, 0)
  const grid = linesTo(Math.max(...bars.map((bar) => Math.max(sum(bar), bar.range?.max ?? 0))), AXIS_LINES)
  const scale = PLOT.width / (grid.at(-1) as number)
  const x = (value: number) => PLOT.left + value * scale
  const bottom = PLOT.top + bars.length * ROW
  const parts = [text({ x: 24, y: 34 }, title, { size: 17, bold: true }), text({ x: 24, y: 56 }, unit, { fill: QUIET })]
  if (colours.size > 1) {
    for (const [n, [name, colour]] of [...colours].entries()) {
      const left = PLOT.left + n * LEGEND_STEP
      parts.push(
        box({ x: left, y: 64 }, 12, 12, colour),
        text({ x: left + 18, y: 75 }, name, { fill: QUIET, size: 13 }),
      )
    }
  }
  for (const value of grid) {
    const label = value.toLocaleString('en')
    parts.push(
      line({ x: x(value), y: PLOT.top }, { x: x(value), y: bottom }, GRID),
      text({ x: x(value), y: bottom + 20 }, label, { anchor: 'middle', fill: QUIET, size: 12 }),
    )
  }
  for (const [n, bar] of bars.entries()) {
    const middle = PLOT.top + n * ROW + ROW / 2
    parts.push(text({ x: PLOT.left - 12, y: middle + 5 }, bar.label, { anchor: 'end' }))
    let from = 0
    for (const { name, value } of bar.segments) {
      const figure = `${bar.label}, ${name}: ${value.toLocaleString('en', { maximumSignificantDigits: 3 })}`
      parts.push(box({ x: x(from), y: middle - BAR / 2 }, value * scale, BAR, colours.get(name) ?? QUIET, figure))
      from += value
    }
    parts.push(...whisker(bar, middle, x))
    parts.push(text({ x: x(Math.max(from, bar.range?.max ?? 0)) + 10, y: middle + 5 }, bar.figure, { bold: true }))
  }
  const description = bars.map(({ label, figure }) => `${label}: ${figure}`).join('; ')
  return svg({ width: WIDTH, height: bottom + BELOW, title, description: `${unit}. ${description}.`, parts })
}

function whisker({ range }: Bar, middle: number, x: (value: number) => number): string[] {
  if (range === undefined || range.min === range.max) return []
  const [left, right] = [x(range.min), x(range.max)]
  const end = (at: number) => line({ x: at, y: middle - 5 }, { x: at, y: middle + 5 }, INK, 1.5)
  return [line({ x: left, y: middle }, { x: right, y: middle }, INK, 1.5), end(left), end(right)]
}
