import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunningProcess } from '../../local/processes/process.mjs'
import { identify } from '../../local/processes/process-identity.mjs'

/** The part of the environment that every process started by a test gets. */
export const processEnvironment = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
}

/**
 * The folder of a run of the tests: all that the run stores is in it, and so are the names of all processes that
 * it started. When a run is broken off its workers are killed, and have no time to end what is theirs; the
 * process that began the run does it for them.
 */
export function openTestRun(): string {
  const run = mkdtempSync(join(tmpdir(), 'plant-store-test-'))
  mkdirSync(processesOf(run))
  mkdirSync(projectsOf(run))
  return run
}

/** Makes the leader of a process group known to its run until it ends. */
export function registerProcess(run: string, { pid, exited }: Pick<RunningProcess, 'pid' | 'exited'>): void {
  const file = note(run, -pid, pid)
  void exited.then(() => rmSync(file, { force: true }))
}

/** Makes the leader of a process group known to its run that is not this process's own child. */
export function registerGroup(run: string, pid: number): void {
  note(run, -pid, pid)
}

/** Makes a compose project known to its run: its containers, networks and volumes end with the run. */
export function registerProject(run: string, project: string): void {
  writeFileSync(join(projectsOf(run), project), '')
}

export function registeredProjects(run: string): string[] {
  return readdirSync(projectsOf(run))
}

/** Makes this process known to its run. */
export function registerWorker(run: string): void {
  note(run, process.pid, process.pid)
}

/** Ends every process of the run at once: the workers first, so that they start no others. */
export function endProcesses(run: string): void {
  const targets = readdirSync(processesOf(run)).map(Number)
  for (const target of targets.sort((a, b) => b - a)) {
    try {
      const identity = readFileSync(join(processesOf(run), String(target)), 'utf8')
      // Another process may have been given the number since.
      if (identity === identify(Math.abs(target))) process.kill(target, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }
}

export function removeTestRun(run: string): void {
  // What was killed a moment ago may still be writing its last file.
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
