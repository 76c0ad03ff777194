import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onEachStart } from '../../local/processes/process.ts'
import { identify } from '../../local/processes/process-identity.ts'

/** The part of the environment that every process started by a test gets. */
export const processEnvironment = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
}

/**
 * Creates the folder of a test run. It holds everything that the run stores, and the ids of all processes that it
 * started: when a run is interrupted its workers are killed and cannot clean up, so the main process does.
 */
export function openTestRun(): string {
  const run = mkdtempSync(join(tmpdir(), 'plant-store-test-'))
  mkdirSync(processesOf(run))
  registerStarts(run)
  return run
}

/** Registers each process that this one starts, which leads a process group, with the run until it ends. */
function registerStarts(run: string): void {
  onEachStart(({ pid, exited }) => {
    const file = registerGroup(run, pid)
    void exited.then(() => rmSync(file, { force: true }))
  })
}

/** Registers the leader of a process group. */
export const registerGroup = (run: string, pid: number): string => note(run, -pid)

/** Registers this process, and each that it starts. */
export function registerWorker(run: string): void {
  note(run, process.pid)
  registerStarts(run)
}

/**
 * Kills every process that the run has started. `andWorkers`: at first its workers, so that they start no others;
 * Vitest itself ends the workers of a run that is complete.
 */
export function endProcesses(run: string, { andWorkers = false } = {}): void {
  const targets = () => readdirSync(processesOf(run)).map(Number)
  if (andWorkers) for (const worker of targets().filter((target) => target > 0)) kill(run, worker)
  for (const group of targets().filter((target) => target < 0)) kill(run, group)
}

function kill(run: string, target: number): void {
  try {
    // The number may belong to another process by now.
    if (readFileSync(fileOf(run, target), 'utf8') === identify(Math.abs(target))) process.kill(target, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}

export function removeTestRun(run: string): void {
  // A process killed a moment ago may still be writing its last file.
  rmSync(run, { recursive: true, force: true, maxRetries: 10 })
}

const processesOf = (run: string) => join(run, 'processes')
const fileOf = (run: string, target: number) => join(processesOf(run), String(target))

/** @param target what `kill` takes: the number of a process, or the negative one of a process group */
function note(run: string, target: number): string {
  writeFileSync(fileOf(run, target), identify(Math.abs(target)) ?? '')
  return fileOf(run, target)
}
