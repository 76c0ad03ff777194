import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cpuFigures, cpuSecondsOfTree, machineBetween, parseMachineTicks, parseStat, readCpu } from './cpu.ts'

const ticks = fc.nat({ max: 1_000_000 })
const name = fc.string({ unit: fc.constantFrom('a', ' ', '(', ')', '1'), maxLength: 15 })

it('a line of /proc/PID/stat is read whatever the name of the program', () => {
  fc.assert(
    fc.property(fc.nat(), name, fc.nat(), ticks, ticks, ticks, ticks, (pid, comm, parent, ...used) => {
      const line = `${pid} (${comm}) S ${parent} 3 4 0 -1 0 1 2 3 4 ${used.join(' ')} 20 0 1 0 5 6 7\n`
      expect(parseStat(line)).toEqual({ pid, parent, ticks: used.reduce((a, b) => a + b) })
    }),
  )
})

it('the CPU of a process includes its descendants and no other process', () => {
  // Each process may be the child of one with a lower id.
  const forest = fc.array(fc.tuple(fc.nat(), ticks), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(forest, (sample) => {
      const stats = sample.map(([choice, ticks], n) => ({ pid: n + 1, parent: choice % (n + 1), ticks }))
      const isBelow = (pid: number, root: number): boolean =>
        pid === root || (pid !== 0 && isBelow(stats[pid - 1]?.parent ?? 0, root))
      for (const { pid: root } of stats) {
        const below = stats.filter(({ pid }) => isBelow(pid, root))
        const expected = below.reduce((sum, each) => sum + each.ticks, 0) / 100
        expect(cpuSecondsOfTree(root, stats.toReversed())).toBeCloseTo(expected, 6)
      }
    }),
  )
})

it.runIf(process.platform === 'linux')('the CPU of this process is read from the system', () => {
  const { user, system } = process.cpuUsage()
  // Each of the four counts of a line is rounded down to 10 ms.
  const read = readCpu({ own: [process.pid] }).own
  expect(read).toBeGreaterThanOrEqual((user + system) / 1e6 - 0.04)
})

it('the CPU of all processes is without the load', () => {
  const micros = { api: 2, broker: 1, load: 5 }
  expect(cpuFigures(micros, 1e6)).toEqual({ 'µs of CPU': 3, ...micros })
})

it('waiting for a disk is no work, guests do not count twice, and stolen time is a share of the busy time', () => {
  const before = parseMachineTicks('cpu  100 10 40 800 50 1 2 3 90 5\ncpu0 1 2 3 4 5 6 7 8 9 10\n')
  expect(before).toEqual({ busy: 156, stolen: 3, total: 1_006 })
  expect(machineBetween(before, { busy: 306, stolen: 33, total: 1_206 })).toEqual({ busy: 75, stolen: 20 })
})
