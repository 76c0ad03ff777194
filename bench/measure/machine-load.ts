import { readFileSync } from 'node:fs'

/** What all cores together did so far, in ticks. What the hypervisor gave to other machines while this one had work counts as busy, too. */
export type MachineTicks = { busy: number; stolen: number; total: number }

/** Reads /proc/stat: of its first line the fourth and fifth number are idle, the fifth because it waits for a disk; the eighth is stolen. */
export function parseMachineTicks(stat: string): MachineTicks {
  const line = /^cpu +(.*)$/m.exec(stat)?.[1]
  if (line === undefined) throw new Error(`no line of /proc/stat for all cores: ${stat.slice(0, 40)}`)
  // What guests took is counted in the first two already.
  const ticks = line.split(' ').slice(0, 8).map(Number)
  const total = ticks.reduce((sum, each) => sum + each, 0)
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks
  return { busy: total - idle - waiting, stolen, total }
}

/** Undefined where there is no /proc. */
export function readMachineTicks(): MachineTicks | undefined {
  return process.platform === 'linux' ? parseMachineTicks(readFileSync('/proc/stat', 'utf8')) : undefined
}

/** The share of the time in which there was work that went to other machines. */
export function stolenBetween(before: MachineTicks, after: MachineTicks): number {
  return (after.stolen - before.stolen) / (after.busy - before.busy)
}

/** The share of all cores that was used between two readings, by whomever. */
export function busyBetween(before: MachineTicks, after: MachineTicks): number {
  return (after.busy - before.busy) / (after.total - before.total)
}
