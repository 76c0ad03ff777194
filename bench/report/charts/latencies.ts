import { dot, GRID, line, QUIET, svg, text } from './drawing.ts'
import { powersAround } from './scale.ts'

export type LatencyLine = {
  label: string
  colour: string
  points: readonly { at: string; ms: number }[]
}

const WIDTH = 860
const PLOT = { left: 84, right: 640, top: 84, height: 260 }
const BELOW = 44
const DOT = 5
/** So far apart at least are the names of two lines. */
const NAME_STEP = 20

/** Latency by at, ms on a logarithmic axis: one line for each contender. */
export function latencyChart(title: string, unit: string, lines: readonly LatencyLine[]): string {
  const grid = powersAround(lines.flatMap(({ points }) => points.map(({ ms }) => ms)))
  const [low, high] = [Math.log10(grid[0] as number), Math.log10(grid.at(-1) as number)]
  const bottom = PLOT.top + PLOT.height
  const y = (ms: number) => bottom - ((Math.log10(ms) - low) / (high - low)) * PLOT.height
  const labels = lines[0]?.points.map(({ at }) => at) ?? []
  const x = (n: number) => PLOT.left + 40 + (n * (PLOT.right - PLOT.left - 80)) / Math.max(1, labels.length - 1)
  const parts = [text({ x: 24, y: 34 }, title, { size: 17, bold: true }), text({ x: 24, y: 56 }, unit, { fill: QUIET })]
  for (const ms of grid) {
    parts.push(
      line({ x: PLOT.left, y: y(ms) }, { x: PLOT.right, y: y(ms) }, GRID),
      text({ x: PLOT.left - 10, y: y(ms) + 4 }, ms.toLocaleString('en'), {
        anchor: 'end',
        fill: QUIET,
        size: 12,
      }),
    )
  }
  for (const [n, at] of labels.entries())
    parts.push(text({ x: x(n), y: bottom + 24 }, at, { anchor: 'middle', fill: QUIET, size: 12 }))
  const nameAt = apart(lines.map(({ points }) => y(points.at(-1)?.ms ?? 1)))
  for (const [index, { label, colour, points }] of lines.entries()) {
    const places = points.map(({ ms }, n) => ({ x: x(n), y: y(ms) }))
    for (const [n, place] of places.entries()) {
      const next = places[n + 1]
      if (next !== undefined) parts.push(line(place, next, colour, 2.5))
    }
    for (const [n, { at, ms }] of points.entries()) {
      const title = `${label}, ${at}: ${ms.toLocaleString('en', { maximumSignificantDigits: 3 })} ms`
      parts.push(dot(places[n] as { x: number; y: number }, DOT, colour, title))
    }
    parts.push(text({ x: PLOT.right + 10, y: (nameAt[index] as number) + 5 }, label, { fill: colour, bold: true }))
  }
  const described = lines.map(({ label, points }) => {
    const title = points.map(({ at, ms }) => `${at} ${ms.toLocaleString('en', { maximumSignificantDigits: 3 })}`)
    return `${label}: ${title.join(', ')}`
  })
  return svg({
    width: WIDTH,
    height: bottom + BELOW,
    title,
    description: `${unit}. ${described.join('; ')}.`,
    parts,
  })
}

/** The same places, moved down where two would be on one another. */
export function apart(places: readonly number[]): number[] {
  const moved = [...places]
  let last = Number.NEGATIVE_INFINITY
  for (const [index, place] of [...places.entries()].sort(([, a], [, b]) => a - b)) {
    last = Math.max(place, last + NAME_STEP)
    moved[index] = last
  }
  return moved
}
