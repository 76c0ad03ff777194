import type { ChildProcess } from 'node:child_process'

/** The end of a process: exactly one of the two is set. */
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

const living = new Set<number>()

/**
 * Makes a detached child known to killLivingGroups until it ends. Such a child leads a process group: Ctrl-C in a
 * terminal reaches every process of the foreground group at once, and what is started here is stopped in order.
 */
export function trackGroup(child: ChildProcess, pid: number): Promise<Exit> {
  living.add(pid)
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      living.delete(pid)
      resolve({ code, signal })
    })
  })
}

/** SIGTERM, and after graceMs SIGKILL, to the whole group: some programs are started through a wrapper. */
export async function stopGroup(pid: number, exited: Promise<Exit>, graceMs: number): Promise<Exit> {
  if (!living.has(pid)) return exited
  signalGroup(pid, 'SIGTERM')
  const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs)
  return exited.finally(() => clearTimeout(timer))
}

/** The last resort: ends everything started here at once, without waiting. */
export function killLivingGroups(): void {
  for (const pid of living) signalGroup(pid, 'SIGKILL')
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // The group is gone already.
  }
}
