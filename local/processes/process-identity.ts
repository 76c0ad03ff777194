import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** By start time and boot, because pids are used again. Undefined without the process (or as a zombie). */
export function identify(pid: number): string | undefined {
  try {
    return process.platform === 'linux' ? identifyByProc(pid) : identifyByPs(pid)
  } catch {
    return undefined
  }
}

function identifyByProc(pid: number): string | undefined {
  const started = startOf(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (started === undefined) return undefined
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${started}`
}

/**
 * The start time in /proc/PID/stat: "pid (program) state … num_threads … starttime …", where the name of the program
 * may contain spaces and parentheses. A killed process is a zombie as soon as its first thread has ended; its ports
 * and files are free when all other threads have ended. Then it is undefined.
 */
export function startOf(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, threads, started] = [0, 17, 19].map((at) => fields[at])
  return state === 'Z' && threads === '1' ? undefined : started
}

function identifyByPs(pid: number): string | undefined {
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
  const row = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env, encoding: 'utf8' })
  const [state = '', ...started] = row.trim().split(/\s+/)
  return state.startsWith('Z') ? undefined : started.join(' ')
}

/** The pids of all processes with one of these arguments. */
export function findProcesses(wanted: readonly string[]): number[] {
  if (process.platform !== 'linux') {
    const rows = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n')
    const found = rows.filter((row) => wanted.some((argument) => `${row} `.includes(` ${argument} `)))
    return found.map((row) => Number.parseInt(row, 10))
  }
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => argumentsOf(pid).some((argument) => wanted.includes(argument))).map(Number)
}

function argumentsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}
