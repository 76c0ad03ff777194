import { readdirSync, readFileSync } from 'node:fs'

/** The fields of /proc/PID/stat: the parent of a process, and its CPU including that of its ended children. */
export type ProcessStat = { pid: number; parent: number; ticks: number }

/** The unit in which the kernel reports times to user space (`man 5 proc`, `getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100

/** Reads a line of /proc/PID/stat; the program's name in it may itself hold spaces and parentheses. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const [parent, ...ticks] = [1, 11, 12, 13, 14].map((at) => Number(fields[at]))
  return {
    pid: Number.parseInt(line, 10),
    parent: parent as number,
    ticks: ticks.reduce((sum, each) => sum + each, 0),
  }
}

/**
 * CPU seconds of a process and all its descendants, including those that have ended: PostgreSQL has a process for each
 * connection.
 */
export function cpuSecondsOfTree(root: number, stats: readonly ProcessStat[]): number {
  const children = Map.groupBy(stats, ({ parent }) => parent)
  const tree = stats.filter(({ pid }) => pid === root)
  for (const { pid } of tree) tree.push(...(children.get(pid) ?? []))
  return tree.reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_PER_SECOND
}

/** CPU seconds of these processes so far, by their names; none where there is no /proc. */
export function readCpu(processes: ReadonlyMap<string, number>): Map<string, number> {
  const stats = readStats()
  if (stats === undefined) return new Map()
  return new Map([...processes].map(([name, pid]) => [name, cpuSecondsOfTree(pid, stats)]))
}

/** CPU seconds between two readings, by name. */
export function cpuBetween(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Map<string, number> {
  return new Map([...after].map(([name, seconds]) => [name, seconds - (before.get(name) ?? 0)]))
}

function readStats(): ProcessStat[] | undefined {
  if (process.platform !== 'linux') return undefined
  const stats: ProcessStat[] = []
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      stats.push(parseStat(readFileSync(`/proc/${entry}/stat`, 'utf8')))
    } catch {
      // It has just ended.
    }
  }
  return stats
}
