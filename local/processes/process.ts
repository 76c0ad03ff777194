import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Exit, stopGroup, trackGroup } from './command.ts'
import { Failure } from './failure.mjs'
import { lastLines } from './log-file.ts'
import { isPortFree } from './port.ts'

export { type Exit, killLivingGroups, stopGroup } from './command.ts'

export type RunningProcess = {
  name: string
  pid: number
  logFile: string
  /** The start of this process's part of the log file, in bytes. */
  logStart: number
  /** Never rejects. */
  exited: Promise<Exit>
  /** SIGTERM, after graceMs SIGKILL. Resolves when the process is really gone; may be called more than once. */
  stop(limit: { graceMs: number }): Promise<Exit>
}

const living = new Map<number, RunningProcess>()
let onStart: (running: RunningProcess) => void = () => {}

/** The programs that this process has started and that run. */
export const livingProcesses = (): RunningProcess[] => [...living.values()]

/** Calls this function, and no earlier one, with each program that is started from now on, before it is ready. */
export function onEachStart(callback: (running: RunningProcess) => void): void {
  onStart = callback
}

type Program = {
  name: string
  command: string
  args: string[]
  logFile: string
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** The ports that it listens on, of `host` (127.0.0.1 unless given). */
  ports?: number[]
  host?: string
}

/**
 * Starts a program that keeps running, as the leader of a process group, with both its outputs appended to a log file.
 * Throws a Failure when there is no such program, or when another one, which would seem ready, listens on its ports.
 */
export async function startProcess(program: Program): Promise<RunningProcess> {
  const { name, command, args, logFile, ports = [], host = '127.0.0.1', ...options } = program
  for (const port of ports)
    if (!(await isPortFree(port, host)))
      throw new Failure(`${name} could not be started: port ${port} of ${host} is in use.`)
  mkdirSync(dirname(logFile), { recursive: true })
  const log = openSync(logFile, 'a')
  const logStart = statSync(logFile).size
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  const { pid } = child
  if (pid === undefined) {
    const [error] = await once(child, 'error')
    throw new Failure(`${name} could not be started: ${error.message}`)
  }
  const exited = trackGroup(child, pid)
  const stop = ({ graceMs }: { graceMs: number }) => stopGroup(pid, exited, graceMs)
  const running = { name, pid, logFile, logStart, exited, stop }
  living.set(pid, running)
  void exited.then(() => living.delete(pid))
  onStart(running)
  return running
}

export type StartOptions = {
  startTimeoutMs?: number
  /** Ends the start. */
  signal?: AbortSignal | undefined
}

type Readiness = StartOptions & {
  /** Called every 50 ms. */
  isReady(): Promise<boolean> | boolean
  /** The known reason for a start that takes too long. */
  why?(): string
}

/**
 * Waits until a process just started is ready, and ends it again when that does not happen. Throws a Failure with the
 * last lines of its log when it ended or did not become ready in time.
 */
export async function untilReady(running: RunningProcess, readiness: Readiness): Promise<void> {
  const { isReady, startTimeoutMs = 60_000, signal, why } = readiness
  const { name, logFile, logStart } = running
  const logged = () => `\n${lastLines(logFile, logStart)}\nThe whole log: ${logFile}`
  const deadline = performance.now() + startTimeoutMs
  let exit: Exit | undefined
  void running.exited.then((end) => {
    exit = end
  })
  try {
    while (!(await isReady()) || exit) {
      signal?.throwIfAborted()
      if (exit) throw new Failure(`${name} ended while starting (${describeExit(exit)}):${logged()}`)
      if (performance.now() > deadline)
        throw new Failure(`${name} was not ready after ${startTimeoutMs / 1000} s:${why?.() ?? ''}${logged()}`)
      await delay(50)
    }
  } catch (error) {
    await running.stop({ graceMs: 1000 })
    throw error
  }
}

/** Starts a program and resolves when it is ready. Throws as `startProcess` and `untilReady`. */
export async function startUntilReady(program: Program, isReady: Readiness['isReady'], options: StartOptions) {
  const running = await startProcess(program)
  await untilReady(running, { ...options, isReady })
  return running
}

export const describeExit = ({ code, signal }: Exit) => (signal ? `signal ${signal}` : `exit code ${code}`)
