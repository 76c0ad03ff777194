import { type ChildProcess, spawn } from 'node:child_process'
import { addAbortListener, once } from 'node:events'
import { Failure } from './failure.mjs'

/** The end of a process: exactly one of the two is set. */
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

const living = new Set<number>()

/**
 * Makes a detached child known to killLivingGroups until it ends. Such a child leads a process group: Ctrl-C in a
 * terminal reaches every process of the foreground group at once, and what is started here is stopped in order.
 */
export async function trackGroup(child: ChildProcess, pid: number): Promise<Exit> {
  living.add(pid)
  const [code, signal] = await once(child, 'exit')
  living.delete(pid)
  return { code, signal }
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

export type CommandOptions = {
  timeoutMs: number
  cwd?: string
  env?: NodeJS.ProcessEnv
  signal?: AbortSignal | undefined
  onStart?: ((pid: number) => void) | undefined
}

/**
 * Runs a program to its end. Resolves to stdout and stderr as they came; `missing`: there is no such program. Throws a
 * Failure when it took longer than timeoutMs.
 */
export async function runCommand(command: string, args: string[], options: CommandOptions) {
  const { timeoutMs, signal, onStart, ...place } = options
  signal?.throwIfAborted()
  const child = spawn(command, args, { ...place, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const { pid } = child
  if (pid === undefined) {
    await once(child, 'error')
    return { code: null, output: '', missing: true }
  }
  const exited = trackGroup(child, pid)
  const closed = once(child, 'close')
  onStart?.(pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  const limit = AbortSignal.timeout(timeoutMs)
  const either = AbortSignal.any([limit, ...(signal ? [signal] : [])])
  // Removed at the end: a long-lived signal would retain every command.
  using _ = addAbortListener(either, () => void stopGroup(pid, exited, 1000))
  const { code } = await exited
  signal?.throwIfAborted()
  await closed
  if (limit.aborted)
    throw new Failure(`${command} was ended: it took longer than ${timeoutMs / 1000} s.\n${endOf(output)}`.trimEnd())
  return { code, output, missing: false }
}

/** A stack frame of Java or JavaScript. The message is before it. */
const FRAME = /^\s+(at |\.\.\. \d+ (more|common frames))/

/** The last lines that are not blank, indented; without stack frames. */
export function endOf(text: string, count = 8): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !FRAME.test(line))
  return lines
    .map((line) => `  ${line}`)
    .slice(-count)
    .join('\n')
}
