import { spawn } from 'node:child_process'
import { PassThrough, type Readable } from 'node:stream'
import { expect } from 'vitest'
import { openCliContext } from '../../plantctl/src/cli-context.ts'
import { runCommand } from '../../plantctl/src/run-command.ts'

const PROGRAM = new URL('../../plantctl/src/main.ts', import.meta.url).pathname

export type Ended = { code: number | null; stdout: string; stderr: string }

/**
 * A run of plantctl in a separate process; `kill` sends it a signal, of which SIGKILL ends it at once, as a crash
 * would. With `closeStdoutAfterBytes` its stdout is closed after that many bytes, as by `head`; with 0 at once. With
 * `fileBlocks` no file that it writes can grow beyond that, as on a full disk; the shell chooses 512 or 1,024 bytes.
 */
export function startPlantctl(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  {
    closeStdoutAfterBytes = Number.POSITIVE_INFINITY,
    fileBlocks,
    cwd,
  }: { closeStdoutAfterBytes?: number; fileBlocks?: number; cwd?: string } = {},
): { ended: Promise<Ended>; stdout(): string; stderr(): string; kill(signal: NodeJS.Signals): void } {
  const limit = fileBlocks === undefined ? [] : ['sh', '-c', `ulimit -f ${fileBlocks} && exec "$0" "$@"`]
  const [command = '', ...rest] = [...limit, process.execPath, PROGRAM, ...args]
  const child = spawn(command, rest, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
  child.stdout.on('data', () => {
    if (Buffer.byteLength(stdout()) >= closeStdoutAfterBytes) child.stdout.destroy()
  })
  if (closeStdoutAfterBytes === 0) child.stdout.destroy()
  return {
    ended: exited.then((code) => ({ code, stdout: stdout(), stderr: stderr() })),
    stdout,
    stderr,
    kill: (signal) => void child.kill(signal),
  }
}

/**
 * Runs a command of plantctl in this process, which takes a fraction of the time that the start of another one takes.
 * Signals, pipes and the end of the process are left out: those need `startPlantctl`.
 */
export async function runPlantctl(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
  const [stdout, stderr] = [textOf(streams.stdout), textOf(streams.stderr)]
  const context = openCliContext({ env, ...streams } as unknown as NodeJS.Process, new AbortController().signal)
  const code = await runCommand(args, context)
  return { code, stdout: stdout(), stderr: stderr() }
}

/** The output of a run that has to succeed. */
export async function outputOf(run: Promise<Ended>): Promise<string> {
  const { code, stdout, stderr } = await run
  expect(code, stdout + stderr).toBe(0)
  return stdout
}

/** The text that a stream has returned so far. */
function textOf(stream: Readable): () => string {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

/** An end with this result. */
export const printing = (stdout: RegExp, code = 0) => ({ code, stdout: expect.stringMatching(stdout) })

/** An end with this message on stderr. */
export const failing = (stderr: RegExp, code = 1) => ({ code, stderr: expect.stringMatching(stderr) })
