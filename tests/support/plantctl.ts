import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

const PROGRAM = new URL('../../services/projector/src/plantctl/main.ts', import.meta.url).pathname

export type Ended = { code: number | null; stdout: string; stderr: string }

/** A run of plantctl in a process of its own; `kill` ends it at once, as a crash would. */
export function startPlantctl(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): { ended: Promise<Ended>; kill(signal: NodeJS.Signals): void } {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const ended = Promise.all([exited, text(child.stdout), text(child.stderr)])
  return {
    ended: ended.then(([code, stdout, stderr]) => ({ code, stdout, stderr })),
    kill: (signal) => void child.kill(signal),
  }
}
