import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type CpuNode, type CpuProfile, timeBySubsystem } from './subsystems.ts'

const ALWAYS = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
const frame = (url: string, functionName = 'f') => ({ callFrame: { functionName, url } })
const ROOT = { id: 1, ...frame('', '(root)'), children: [2, 3, 4, 5, 6] }
const NODES: CpuNode[] = [
  ROOT,
  { id: 2, ...frame('', '(idle)') },
  { id: 3, ...frame('', '(garbage collector)') },
  { id: 4, ...frame('node:net'), children: [7] },
  { id: 5, ...frame('file:///p/node_modules/ioredis/built/Redis.js'), children: [8] },
  { id: 6, ...frame('file:///p/node_modules/left-pad/index.js') },
  { id: 7, ...frame('/p/node_modules/kafkajs/src/producer/sendMessages.js') },
  { id: 8, ...frame('node:net'), children: [9] },
  { id: 9, ...frame('', 'writeUtf8String') },
]
const EXPECTED: Record<number, string | undefined> = {
  2: undefined,
  3: 'garbage collector',
  4: 'Node: HTTP, sockets, timers',
  5: 'ioredis',
  6: 'other packages',
  7: 'kafkajs: appending',
  8: 'ioredis',
  9: 'ioredis',
}

const samples = fc.array(fc.record({ id: fc.integer({ min: 2, max: 9 }), took: fc.nat(1_000) }))
const profileOf = (taken: { id: number; took: number }[]): CpuProfile => ({
  startTime: 5_000,
  nodes: NODES,
  samples: taken.map(({ id }) => id),
  timeDeltas: taken.map(({ took }) => took),
})

it('gives all time but the idle to the subsystem of the function, and what Node does to its caller', () => {
  fc.assert(
    fc.property(samples, (taken) => {
      const spent = timeBySubsystem(profileOf(taken), ALWAYS)
      for (const name of new Set(Object.values(EXPECTED))) {
        const own = taken.filter(({ id }) => name !== undefined && EXPECTED[id] === name)
        expect(spent.get(name as string) ?? 0).toBe(own.reduce((sum, { took }) => sum + took, 0))
      }
    }),
  )
})

it('counts the samples of the interval alone, so that two halves are the whole', () => {
  fc.assert(
    fc.property(samples, fc.integer({ min: 4_000, max: 20_000 }), (taken, cut) => {
      const profile = profileOf(taken)
      const [before, after] = [
        { ...ALWAYS, to: cut },
        { ...ALWAYS, from: cut },
      ].map((interval) => timeBySubsystem(profile, interval))
      for (const [name, whole] of timeBySubsystem(profile, ALWAYS))
        expect((before?.get(name) ?? 0) + (after?.get(name) ?? 0)).toBe(whole)
      const ends = taken.map((_, index) => taken.slice(0, index + 1).reduce((at, { took }) => at + took, 5_000))
      const late = taken.filter(({ id }, index) => id !== 2 && (ends[index] as number) >= cut)
      const sum = [...(after?.values() ?? [])].reduce((total, value) => total + value, 0)
      expect(sum).toBe(late.reduce((total, { took }) => total + took, 0))
    }),
  )
})
