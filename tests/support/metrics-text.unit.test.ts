import { describe, expect, it } from 'vitest'
import { parseMetrics } from './metrics-text.ts'

const head = (name: string, type: string) => `# HELP ${name} What it is.\n# TYPE ${name} ${type}\n`
const histogram = (...lines: string[]) => `${head('h', 'histogram')}${lines.map((line) => `h${line}\n`).join('')}`

describe('metrics as text', () => {
  it('are read with their labels and numbers', () => {
    const text = `${head('a_total', 'counter')}a_total{x="1,\\"}\\\\\\n",y=""} 3\na_total 1e+3\n\n${head('g', 'gauge')}g -Inf\n`
    expect(parseMetrics(text)).toEqual(
      new Map([
        [
          'a_total',
          {
            type: 'counter',
            help: 'What it is.',
            samples: [
              { name: 'a_total', labels: { x: '1,"}\\\n', y: '' }, value: 3 },
              { name: 'a_total', labels: {}, value: 1_000 },
            ],
          },
        ],
        ['g', { type: 'gauge', help: 'What it is.', samples: [{ name: 'g', labels: {}, value: -Infinity }] }],
      ]),
    )
  })

  it('have histograms that add up', () => {
    const text = histogram('_bucket{le="1"} 2', '_bucket{le="+Inf"} 3', '_sum 4.5', '_count 3')
    expect(parseMetrics(text).get('h')?.samples).toHaveLength(4)
  })

  it.each([
    ['without an end of the last line', `${head('g', 'gauge')}g 1`],
    ['with a sample before its head', `g 1\n${head('g', 'gauge')}`],
    ['with a sample of another metric', `${head('g', 'gauge')}f 1\n`],
    ['without help', '# TYPE g gauge\ng 1\n'],
    ['without a type', '# HELP g What it is.\ng 1\n'],
    ['without a type or samples', '# HELP g What it is.\n'],
    ['with an empty help', '# HELP g  \n# TYPE g gauge\ng 1\n'],
    ['with an invalid type', `${head('g', 'gouge')}g 1\n`],
    ['with a head twice', `${head('g', 'gauge')}${head('g', 'gauge')}`],
    ['with a sample twice', `${head('g', 'gauge')}g{a="1",b="2"} 1\ng{b="2",a="1"} 1\n`],
    ['with a label twice', `${head('g', 'gauge')}g{a="1",a="2"} 1\n`],
    ['with a label without quotes', `${head('g', 'gauge')}g{a=1} 1\n`],
    ['with a label that does not end', `${head('g', 'gauge')}g{a="1} 1\n`],
    ['with an invalid escape', `${head('g', 'gauge')}g{a="\\t"} 1\n`],
    ['with a comma too many', `${head('g', 'gauge')}g{,a="1"} 1\n`],
    ['with a value that is no number', `${head('g', 'gauge')}g one\n`],
    ['without a value', `${head('g', 'gauge')}g \n`],
    ['with a counter below 0', `${head('a_total', 'counter')}a_total -1\n`],
    ['with a histogram as a sample', histogram(' 1')],
    ['with a bucket less than the one before', histogram('_bucket{le="1"} 2', '_bucket{le="+Inf"} 1', '_count 1')],
    ['with a count of other buckets', histogram('_bucket{le="1"} 2', '_bucket{le="+Inf"} 3', '_count 4')],
    ['without a last bucket', histogram('_bucket{le="1"} 2', '_count 2')],
    ['without a count', histogram('_bucket{le="+Inf"} 2')],
  ])('are refused %s', (_fault, text) => {
    expect(() => parseMetrics(text)).toThrow()
  })
})
