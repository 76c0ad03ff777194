import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cpuBetween, cpuSecondsOfTree, type ProcessStat, parseStat } from './cpu.ts'

const ticks = fc.nat({ max: 1_000_000 })
const name = fc.string({ unit: fc.constantFrom('a', ' ', '(', ')', '1'), maxLength: 15 })
const isLinux = process.platform === 'linux'

describe('a line of /proc/PID/stat', () => {
  it('is read whatever the program is called', () => {
    fc.assert(
      fc.property(fc.nat(), name, fc.nat(), ticks, ticks, ticks, ticks, (pid, comm, parent, ...used) => {
        const line = `${pid} (${comm}) S ${parent} 3 4 0 -1 0 1 2 3 4 ${used.join(' ')} 20 0 1 0 5 6 7\n`
        expect(parseStat(line)).toEqual({ pid, parent, ticks: used.reduce((a, b) => a + b) })
      }),
    )
  })
})

/** A forest: each process may be the child of one with a lower id. */
const forest = fc
  .array(fc.tuple(fc.nat(), ticks), { minLength: 1, maxLength: 30 })
  .map((rounds) =>
    rounds.map(([choice, used], index): ProcessStat => ({ pid: index + 1, parent: choice % (index + 1), ticks: used })),
  )

describe('the CPU of a process', () => {
  it('has that of all that it started, and of nobody else', () => {
    fc.assert(
      fc.property(forest, fc.infiniteStream(fc.nat()), (stats, keys) => {
        const isBelow = (pid: number, root: number): boolean =>
          pid === root || (pid !== 0 && isBelow(stats[pid - 1]?.parent ?? 0, root))
        const shuffled = stats.toSorted(() => (keys.next().value % 2 === 0 ? 1 : -1))
        for (const { pid: root } of stats) {
          const below = stats.filter(({ pid }) => isBelow(pid, root))
          const expected = below.reduce((sum, each) => sum + each.ticks, 0) / 100
          expect(cpuSecondsOfTree(root, shuffled)).toBeCloseTo(expected, 6)
        }
      }),
    )
  })

  it('between two readings is what was added', () => {
    const before = new Map([['api', 1]])
    const after = new Map([
      ['api', 3.5],
      ['broker', 2],
    ])
    expect(cpuBetween(before, after)).toEqual(
      new Map([
        ['api', 2.5],
        ['broker', 2],
      ]),
    )
  })

  it.runIf(isLinux)('is read from the system as the process itself knows it', () => {
    // In a process that has started no others, whose CPU would count.
    const code = `
      import { readCpu } from ${JSON.stringify(new URL('cpu.ts', import.meta.url).href)}
      const own = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6
      const before = own()
      const read = readCpu(new Map([['own', process.pid]])).get('own')
      console.log(JSON.stringify({ before, read, after: own() }))`
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', code], {
      encoding: 'utf8',
    })
    const { before, read, after } = JSON.parse(output) as { before: number; read: number; after: number }
    const TICK = 0.01
    // Each of the four counts of a line is rounded down.
    expect(read).toBeGreaterThanOrEqual(before - 4 * TICK)
    expect(read).toBeLessThanOrEqual(after + TICK)
  })
})
