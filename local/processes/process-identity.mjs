import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Tells a process from a later one that was given the same pid: when it was started, on which boot.
 *
 * @param {number} pid
 * @returns {string | undefined} undefined when there is no such process (or only its zombie)
 */
export function identify(pid) {
  return process.platform === 'linux' ? identifyByProc(pid) : identifyByPs(pid)
}

/** @param {number} pid */
function identifyByProc(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // "pid (program) state … starttime …": the program's name may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z') return undefined
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}/${fields[19]}`
  } catch {
    return undefined
  }
}

/** @param {number} pid */
function identifyByPs(pid) {
  try {
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
    const row = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      env,
      encoding: 'utf8',
    }).trim()
    const [state = '', ...started] = row.split(/\s+/)
    return state.startsWith('Z') ? undefined : started.join(' ')
  } catch {
    return undefined
  }
}
