import { readdirSync, readFileSync } from 'node:fs'
import type { Figures } from './spread.ts'

/** The process ids of each kind. */
export type Processes = Readonly<Record<string, readonly number[]>>
/** Fields of /proc/PID/stat: the parent of a process, and its CPU with the CPU of its ended children. */
type ProcessStat = { pid: number; parent: number; ticks: number }
/** Ticks of all cores so far. Time that the hypervisor gave to other machines (`stolen`) counts as busy, too. */
export type MachineTicks = { busy: number; stolen: number; total: number }

/** The kind of the load generator's process, and the figure for the CPU of all others. */
export const LOAD = 'load'
export const CPU = 'µs of CPU'
/** The unit in which the kernel reports times to user space (`man 5 proc`, `getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100

/** Reads a line of /proc/PID/stat; the program's name in it may itself hold spaces and parentheses. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const [parent = 0, ...ticks] = [1, 11, 12, 13, 14].map((at) => Number(fields[at]))
  return { pid: Number.parseInt(line, 10), parent, ticks: ticks.reduce((sum, each) => sum + each, 0) }
}

/** CPU seconds of a process and its descendants, also of those that ended: PostgreSQL has one for each connection. */
export function cpuSecondsOfTree(root: number, stats: readonly ProcessStat[]): number {
  const tree = stats.filter(({ pid }) => pid === root)
  for (const { pid } of tree) tree.push(...stats.filter(({ parent }) => parent === pid))
  return tree.reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_PER_SECOND
}

/** CPU seconds so far of each kind of process; none where there is no /proc. */
export function readCpu(processes: Processes): Figures {
  if (process.platform !== 'linux') return {}
  const stats = readdirSync('/proc').flatMap((entry) => (/^\d+$/.test(entry) ? readStat(entry) : []))
  const sumOf = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + cpuSecondsOfTree(pid, stats), 0)
  return Object.fromEntries(Object.entries(processes).map(([kind, pids]) => [kind, sumOf(pids)]))
}

function readStat(pid: string): ProcessStat[] {
  try {
    return [parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))]
  } catch {
    // The process has just ended.
    return []
  }
}

export const cpuBetween = (before: Figures, after: Figures): Figures =>
  Object.fromEntries(Object.entries(after).map(([kind, seconds]) => [kind, seconds - (before[kind] ?? 0)]))

/** µs of CPU for each of `count` requests: of all processes without the load, and of each kind of process. */
export function cpuFigures(cpuSeconds: Figures, count: number): Figures {
  const micros = Object.entries(cpuSeconds).map(([kind, seconds]) => [kind, (seconds / count) * 1e6] as const)
  if (micros.length === 0) return {}
  const sum = micros.reduce((total, [kind, each]) => (kind === LOAD ? total : total + each), 0)
  return { [CPU]: sum, ...Object.fromEntries(micros) }
}

/** Parses /proc/stat: in its first line, the fourth number is idle time, the fifth waits for disks, the eighth is stolen. */
export function parseMachineTicks(stat: string): MachineTicks {
  // The first two numbers already include the time of guests, which is at the end of the line.
  const ticks = (/^cpu +(.*)$/m.exec(stat)?.[1] ?? '').split(' ').slice(0, 8).map(Number)
  const total = ticks.reduce((sum, each) => sum + each, 0)
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks
  return { busy: total - idle - waiting, stolen, total }
}

/** Zeros where there is no /proc. */
export const readMachineTicks = (): MachineTicks =>
  parseMachineTicks(process.platform === 'linux' ? readFileSync('/proc/stat', 'utf8') : '')

/** Percentages between two readings: of all cores that were in use, and of that time the part of other machines. */
export function machineBetween(before: MachineTicks, after: MachineTicks): { busy: number; stolen: number } {
  const [busy, stolen] = [after.busy - before.busy, after.stolen - before.stolen]
  return { busy: (100 * busy) / (after.total - before.total), stolen: (100 * stolen) / busy }
}

/** The memory of a process that is not swapped out, in MB; NaN where there is no /proc. */
export function residentMegabytes(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return (Number(kibibytes) * 1_024) / 1e6
}
