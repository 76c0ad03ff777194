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
  mkdirSync(projectsOf(run))
  registerStarts(run)
  return run
}

/** Registers each process that this one starts, which leads a process group, with the run until it ends. */
function registerStarts(run: string): void {
  onEachStart(({ pid, exited }) => {
    const file = note(run, -pid, pid)
    void exited.then(() => rmSync(file, { force: true }))
  })
}

/** Registers the leader of a process group that is not a child of this process. */
export function registerGroup(run: string, pid: number): void {
  note(run, -pid, pid)
}

/** Registers a compose project: its containers, networks and volumes end with the run. */
export function registerProject(run: string, project: string): void {
  writeFileSync(join(projectsOf(run), project), '')
}

export function registeredProjects(run: string): string[] {
  return readdirSync(projectsOf(run))
}

/** Registers this process, and each that it starts. */
export function registerWorker(run: string): void {
  note(run, process.pid, process.pid)
  registerStarts(run)
}

/**
 * Kills the workers of the run, so that they start no other processes. Vitest itself ends the workers of a run that is
 * complete.
 */
export function endWorkers(run: string): void {
  kill(run, (target) => target > 0)
}

/** Kills every process that the run has started. */
export function endProcesses(run: string): void {
  kill(run, (target) => target < 0)
}

function kill(run: string, isMeant: (target: number) => boolean): void {
  for (const target of readdirSync(processesOf(run)).map(Number).filter(isMeant)) {
    try {
      const identity = readFileSync(join(processesOf(run), String(target)), 'utf8')
      // The number may belong to another process by now.
      if (identity === identify(Math.abs(target))) process.kill(target, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }
}

export function removeTestRun(run: string): void {
  // A process killed a moment ago may still be writing its last file.
  rmSync(run, { recursive: true, force: true, maxRetries: 10 })
}

const processesOf = (run: string) => join(run, 'processes')
const projectsOf = (run: string) => join(run, 'projects')

/** @param target what `kill` takes: the number of a process, or the negative one of a process group */
function note(run: string, target: number, pid: number): string {
  const file = join(processesOf(run), String(target))
  writeFileSync(file, identify(pid) ?? '')
  return file
}
