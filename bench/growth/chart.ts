import { median } from '../measure/spread.ts'
import { dot, GRID, line, QUIET, svg, text } from '../report/charts/drawing.ts'
import { linesTo } from '../report/charts/scale.ts'
import { digits } from '../report/figures.ts'
import { cpuOf, type Kind, type Measured } from './results.ts'

const LINES: readonly { kind: Kind; colour: string; name: string }[] = [
  { kind: 'creates', colour: '#059669', name: 'a create' },
  { kind: 'reads', colour: '#2563eb', name: 'a read' },
]
const WIDTH = 860
const PLOT = { left: 84, right: 680, top: 84, height: 220 }
const BOTTOM = PLOT.top + PLOT.height
const BELOW = 44
const AXIS_LINES = 6
const TITLE = 'CPU of one create and of one read, as the store grows'
const UNIT = 'µs of all processes that have a part in it, by plants in the store; medians'

/** µs of CPU of a request over plants in the store, these on a logarithmic axis: level is what it should be. */
export function growthChart(sizes: readonly Measured[]): string {
  const lines = LINES.map((one) => ({
    ...one,
    points: sizes.map(({ plants, visits }) => ({
      plants,
      micros: median(visits.map((visit) => cpuOf(visit[one.kind]))),
    })),
  }))
  const grid = linesTo(Math.max(...lines.flatMap(({ points }) => points.map(({ micros }) => micros))), AXIS_LINES)
  const y = (micros: number) => BOTTOM - (micros / (grid.at(-1) as number)) * PLOT.height
  const step = (PLOT.right - PLOT.left - 80) / Math.max(1, sizes.length - 1)
  // Each size is ten times the one before.
  const x = (n: number) => PLOT.left + 40 + n * step
  const parts = [
    text({ x: 24, y: 34 }, TITLE, { size: 17, bold: true }),
    text({ x: 24, y: 56 }, UNIT, { fill: QUIET }),
    ...grid.flatMap((micros) => [
      line({ x: PLOT.left, y: y(micros) }, { x: PLOT.right, y: y(micros) }, GRID),
      text({ x: PLOT.left - 10, y: y(micros) + 4 }, micros.toLocaleString('en'), {
        ...{ anchor: 'end', fill: QUIET, size: 12 },
      }),
    ]),
    ...sizes.map(({ plants }, n) =>
      text({ x: x(n), y: BOTTOM + 24 }, plants.toLocaleString('en'), {
        anchor: 'middle',
        fill: QUIET,
        size: 12,
      }),
    ),
    ...lines.flatMap(({ name, colour, points }) => {
      const places = points.map(({ micros }, n) => ({ x: x(n), y: y(micros) }))
      const dots = points.map(({ plants, micros }, n) => {
        const title = `${name} with ${plants.toLocaleString('en')} plants: ${digits(micros)} µs`
        return dot({ x: x(n), y: y(micros) }, 5, colour, title)
      })
      const strokes = places.slice(1).map((to, n) => line(places[n] ?? to, to, colour, 2.5))
      const last = { x: PLOT.right + 10, y: (places.at(-1)?.y ?? BOTTOM) + 5 }
      return [...strokes, ...dots, text(last, name, { fill: colour, bold: true })]
    }),
  ]
  const described = lines.map(({ name, points }) => `${name}: ${points.map(({ micros }) => digits(micros)).join(', ')}`)
  const description = `${UNIT}. ${described.join('; ')}.`
  return svg({ width: WIDTH, height: BOTTOM + BELOW, title: TITLE, description, parts })
}
