/**
 * The end of a process: exactly one of the two is set.
 * @typedef {{ code: number | null, signal: NodeJS.Signals | null }} Exit
 */

/** @type {Set<number>} */
const living = new Set()

/**
 * Makes a detached child known to killLivingGroups until it ends. Such a child leads a process group: Ctrl-C in a
 * terminal reaches every process of the foreground group at once, and what is started here is stopped in order.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} pid
 * @returns {Promise<Exit>}
 */
export function trackGroup(child, pid) {
  living.add(pid)
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      living.delete(pid)
      resolve({ code, signal })
    })
  })
}

/**
 * SIGTERM, and after graceMs SIGKILL, to the whole group: some programs are started through a wrapper.
 *
 * @param {number} pid
 * @param {Promise<Exit>} exited
 * @param {number} graceMs
 */
export async function stopGroup(pid, exited, graceMs) {
  if (!living.has(pid)) return exited
  signalGroup(pid, 'SIGTERM')
  const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs)
  return exited.finally(() => clearTimeout(timer))
}

/** The last resort: ends everything started here at once, without waiting. */
export function killLivingGroups() {
  for (const pid of living) signalGroup(pid, 'SIGKILL')
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal)
  } catch {
    // The group is gone already.
  }
}
