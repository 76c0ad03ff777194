import { expect, it } from 'vitest'
import { optionsHelp, readOptions } from './options.ts'

const DECLARED = {
  ...{ numbers: { rounds: 7, events: 100 }, quick: { events: 10 }, canBeAgainst: true as const },
  ...{ parts: ['a', 'b', 'c'], quickParts: ['b'] },
}

it.each([
  [[], { rounds: 7, events: 100, parts: ['a', 'b', 'c'], leftOut: [] }],
  [['--quick'], { rounds: 7, events: 10, parts: ['b'], leftOut: ['a', 'c'] }],
  [['--quick', '--only', 'c', 'a', '--events=50', '--write'], { events: 50, parts: ['a', 'c'], write: true }],
])('the options %j are %j', (args, expected) => {
  expect(readOptions(args, DECLARED)).toMatchObject(expected)
})

it.each([
  [['--only', 'd'], '--only d: expected any of a, b, c'],
  [['a'], '--only a measures one part'],
  [['--rounds=0'], '--rounds 0: expected a whole number from 1 to 50'],
  [['--seconds=1'], '--help lists the options'],
])('the options %j are rejected: %s', (args, message) => {
  expect(() => readOptions(args, DECLARED)).toThrow(message)
})

it('the help names each option and part', () => {
  expect(readOptions(['--help'], DECLARED)).toBeUndefined()
  for (const name of ['rounds', 'events', 'against', 'only', 'a, b, c']) expect(optionsHelp(DECLARED)).toContain(name)
})
