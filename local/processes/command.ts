import { spawn } from 'node:child_process'
import { once } from 'node:events'
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
