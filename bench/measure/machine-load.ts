import { readFileSync } from 'node:fs'

/** Ticks of all cores so far. Time that the hypervisor gave to other machines (`stolen`) counts as busy, too. */
export type MachineTicks = { busy: number; stolen: number; total: number }

/**
 * Parses /proc/stat. In its first line, the fourth number is idle time, the fifth waits for disks, the eighth is
 * stolen.
 */
export function parseMachineTicks(stat: string): MachineTicks {
  const line = /^cpu +(.*)$/m.exec(stat)?.[1]
  if (line === undefined) throw new Error(`no line of /proc/stat for all cores: ${stat.slice(0, 40)}`)
  // The first two numbers already include the time of guests.
  const ticks = line.split(' ').slice(0, 8).map(Number)
  const total = ticks.reduce((sum, each) => sum + each, 0)
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks
  return { busy: total - idle - waiting, stolen, total }
}

/** Undefined where there is no /proc. */
export function readMachineTicks(): MachineTicks | undefined {
  return process.platform === 'linux' ? parseMachineTicks(readFileSync('/proc/stat', 'utf8')) : undefined
}

/** The share of the busy time between two readings that went to other machines. */
export function stolenBetween(before: MachineTicks, after: MachineTicks): number {
  return (after.stolen - before.stolen) / (after.busy - before.busy)
}

/** The share of all cores in use between two readings, by any process. */
export function busyBetween(before: MachineTicks, after: MachineTicks): number {
  return (after.busy - before.busy) / (after.total - before.total)
}
