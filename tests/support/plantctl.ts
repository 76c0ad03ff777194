import { spawn } from 'node:child_process'
import { buffer } from 'node:stream/consumers'

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
): { ended: Promise<Ended>; stdout(): string; kill(signal: NodeJS.Signals): void } {
  const limit = fileBlocks === undefined ? [] : ['sh', '-c', `ulimit -f ${fileBlocks} && exec "$0" "$@"`]
  const [command = '', ...rest] = [...limit, process.execPath, PROGRAM, ...args]
  const child = spawn(command, rest, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const chunks: Buffer[] = []
  const stdout = () => Buffer.concat(chunks).toString()
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    if (Buffer.concat(chunks).length >= closeStdoutAfterBytes) child.stdout.destroy()
  })
  if (closeStdoutAfterBytes === 0) child.stdout.destroy()
  const ended = Promise.all([exited, buffer(child.stderr)])
  return {
    ended: ended.then(([code, stderr]) => ({ code, stdout: stdout(), stderr: String(stderr) })),
    stdout,
    kill: (signal) => void child.kill(signal),
  }
}
