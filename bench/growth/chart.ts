import { median } from '../measure/spread.ts'
import { cpuOf, type Kind, type Measured } from './results.ts'

const [WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM] = [640, 300, 56, 40, 90, 44]
const LINES: readonly { kind: Kind; color: string; name: string }[] = [
  { kind: 'creates', color: '#2f7d4f', name: 'a create' },
  { kind: 'reads', color: '#2b6cb0', name: 'a read' },
]
const STEPS = 4

/** µs of CPU a request over plants in the store, these on a logarithmic scale: level is what it should be. */
export function growthChart(sizes: readonly Measured[]): string {
  const lines = LINES.map((line) => ({
    ...line,
    points: sizes.map(({ plants, visits }) => ({
      plants,
      micros: median(visits.map((visit) => cpuOf(visit[line.kind]))),
    })),
  }))
  const highest = Math.max(...lines.flatMap(({ points }) => points.map(({ micros }) => micros)))
  const top = Math.ceil(highest / (10 * STEPS)) * 10 * STEPS
  const [first = 1, last = 1] = [sizes[0]?.plants, sizes.at(-1)?.plants]
  const share = (plants: number) => (first === last ? 0.5 : Math.log(plants / first) / Math.log(last / first))
  const x = (plants: number) => round(LEFT + share(plants) * (WIDTH - LEFT - RIGHT))
  const y = (micros: number) => round(HEIGHT - BOTTOM - (micros / top) * (HEIGHT - TOP - BOTTOM))

  const grid = Array.from({ length: STEPS + 1 }, (_, step) => (top / STEPS) * step).map(
    (micros) =>
      `<path d="M${LEFT} ${y(micros)}H${WIDTH - RIGHT}" stroke="#ddd"/>${text(LEFT - 8, y(micros) + 4, 'end', String(micros))}`,
  )
  const marks = sizes.map(({ plants }) =>
    text(x(plants), HEIGHT - BOTTOM + 20, 'middle', plants.toLocaleString('en')),
  )
  const drawn = lines.map(({ color, name, points }) => {
    const path = points.map(({ plants, micros }) => `${x(plants)},${y(micros)}`).join(' ')
    const dots = points.map(
      ({ plants, micros }) => `<circle cx="${x(plants)}" cy="${y(micros)}" r="3.5" fill="${color}"/>`,
    )
    const end = points.at(-1)
    const label = end && text(x(end.plants) + 10, y(end.micros) + 4, 'start', name, color)
    return `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>${dots.join('')}${label}`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
${text(LEFT, 22, 'start', 'µs of CPU each, by plants in the store')}
${[...grid, ...marks, ...drawn].join('\n')}
</svg>
`
}

function text(x: number, y: number, anchor: string, words: string, color = '#333'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${color}">${words}</text>`
}

const round = (value: number) => Math.round(value * 10) / 10
