import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type CpuNode, timeBySubsystem } from './subsystems.ts'

const frame = (url: string, functionName = 'f') => ({ callFrame: { functionName, url } })
const NODES: CpuNode[] = [
  { id: 1, ...frame('', '(root)'), children: [2, 3, 4, 5, 6, 10] },
  { id: 2, ...frame('', '(idle)') },
  { id: 3, ...frame('', '(garbage collector)') },
  { id: 4, ...frame('node:net'), children: [7] },
  { id: 5, ...frame('file:///p/node_modules/ioredis/built/Redis.js'), children: [8] },
  { id: 6, ...frame('file:///p/node_modules/left-pad/index.js') },
  { id: 7, ...frame('/p/node_modules/kafkajs/src/producer/sendMessages.js') },
  { id: 8, ...frame('node:net'), children: [9] },
  { id: 9, ...frame('', 'writeUtf8String') },
  { id: 10, ...frame('file:///p/services/api/src/create-plant/cycle.ts') },
]
const EXPECTED: Record<number, string> = {
  3: 'garbage collector',
  4: 'Node: HTTP, sockets, timers',
  5: 'ioredis',
  6: 'left-pad',
  7: 'kafkajs/producer',
  8: 'ioredis',
  9: 'ioredis',
  10: 'services/api/create-plant',
}
const BEGIN = 5_000
const samples = fc.array(fc.record({ id: fc.integer({ min: 2, max: 10 }), took: fc.nat(1_000) }))

it('all time of the interval except idle time belongs to the subsystem of the function; that of Node to its caller', () => {
  fc.assert(
    fc.property(samples, fc.integer({ min: 4_000, max: 20_000 }), (taken, from) => {
      const times = { startTime: BEGIN, samples: taken.map(({ id }) => id), timeDeltas: taken.map(({ took }) => took) }
      const spent = timeBySubsystem({ nodes: NODES, ...times }, { from, to: Number.POSITIVE_INFINITY })
      const isLate = (index: number) => taken.slice(0, index + 1).reduce((at, { took }) => at + took, BEGIN) >= from
      for (const name of new Set(Object.values(EXPECTED))) {
        const own = taken.filter(({ id }, index) => EXPECTED[id] === name && isLate(index))
        expect(spent.get(name) ?? 0).toBe(own.reduce((sum, { took }) => sum + took, 0))
      }
      expect([...spent.keys()].every((name) => Object.values(EXPECTED).includes(name))).toBe(true)
    }),
  )
})
