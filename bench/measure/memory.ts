import { readFileSync } from 'node:fs'

/** The memory of a process that is not swapped out, in bytes; undefined where there is no /proc. */
export function residentBytes(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes) * 1_024
}
