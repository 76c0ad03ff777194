import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { Failure } from './failure.mjs'
import { stopGroup, trackGroup } from './group.ts'

export type CommandOptions = {
  timeoutMs: number
  cwd?: string
  env?: NodeJS.ProcessEnv
  signal?: AbortSignal | undefined
  onStart?: ((pid: number) => void) | undefined
}

/** Stdout and stderr as they came. `missing`: there is no such program; then code is null. */
type Ended = { code: number | null; output: string; missing: boolean }

/** Runs a program to its end. Throws a Failure when it took longer than timeoutMs. */
export async function runCommand(command: string, args: string[], options: CommandOptions): Promise<Ended> {
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
  const stop = () => void stopGroup(pid, exited, 1000)
  for (const each of [limit, signal]) each?.addEventListener('abort', stop)
  const { code } = await exited
  for (const each of [limit, signal]) each?.removeEventListener('abort', stop)
  signal?.throwIfAborted()
  await closed
  if (limit.aborted)
    throw new Failure(`${command} was ended: it took longer than ${timeoutMs / 1000} s.\n${endOf(output)}`.trimEnd())
  return { code, output, missing: false }
}

/** The signals that end a program of a terminal. */
export const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs a program in the foreground: on this terminal, with the signals that this process receives. Resolves to its exit
 * code; when a signal ended it to 128 and the signal's number, as in a shell.
 */
export function runForeground(command: string, args: string[], options: { cwd: string; env: NodeJS.ProcessEnv }) {
  const child = spawn(command, args, { ...options, stdio: 'inherit' })
  function pass(signal: NodeJS.Signals): void {
    // Ctrl-C in a terminal has reached the program already; some programs take a second one for "at once".
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
  }
  for (const signal of END_SIGNALS) process.on(signal, pass)
  return new Promise<number>((resolve, reject) => {
    child.once('error', (error) => reject(new Failure(`${command} could not be started: ${error.message}`)))
    child.once('exit', (code, signal) => {
      for (const name of END_SIGNALS) process.off(name, pass)
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0))
    })
  })
}

/** A stack frame of Java or JavaScript. The message is before it. */
const FRAME = /^\s+(at |\.\.\. \d+ (more|common frames))/

/** The last lines that are not blank, indented; without stack frames. */
export function endOf(text: string, count = 8): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !FRAME.test(line))
  return lines
    .slice(-count)
    .map((line) => `  ${line}`)
    .join('\n')
}
