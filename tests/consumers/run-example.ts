import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { PROGRAMS } from '../../examples/run.ts'
import { root } from '../../local/places.mjs'
import { startProcess } from '../../local/processes/process.ts'
import { runStep } from '../support/run-step.ts'
import type { TestTopic } from '../support/topic.ts'
import { readTruth } from '../support/truth.ts'

const TIMEOUT_MS = 120_000

async function programOf(name: string, args: readonly string[]) {
  const program = await PROGRAMS[name]?.()
  if (program === undefined) throw new Error(`there is no example ${name}`)
  return { command: program.command, args: [...program.args, ...args] }
}

/** Runs an example to its end, as `npm run example` does. Resolves to the lines that it printed. */
export async function runExample(
  name: string,
  args: readonly string[],
  settings: NodeJS.ProcessEnv = {},
): Promise<string[]> {
  const program = await programOf(name, args)
  const output = await runStep(program.command, program.args, { cwd: root, env: settings, timeoutMs: TIMEOUT_MS })
  return output.trimEnd().split('\n')
}

/** Starts an example that runs until it is killed. */
export async function startExample(name: string, args: readonly string[], settings: NodeJS.ProcessEnv) {
  const logFile = join(inject('testRun'), `${name}-${randomUUID()}.log`)
  const running = await startProcess({
    ...(await programOf(name, args)),
    ...{ name, logFile, env: { ...process.env, ...settings } },
  })
  onTestFinished(() => void running.stop({ graceMs: 0 }))
  return {
    exited: running.exited,
    /** The output so far. */
    output: () => readFileSync(logFile, 'utf8'),
    /** Kills it with SIGKILL, as in a crash. */
    async kill(): Promise<void> {
      process.kill(-running.pid, 'SIGKILL')
      await running.exited
    },
  }
}

/** A plant as the examples write it: `unreadable` in place of name and tag where its event can't be read. */
export type PlantLine = { id: string; name?: string; tag?: string; unreadable?: true }

/** The plants of a log by id, as the product folds it and as the examples write them. */
export async function plantsOfLog(topic: TestTopic): Promise<Map<string, PlantLine>> {
  const claims = (await readTruth(topic)).states.flatMap(({ plants }) => [...plants.values()])
  return new Map(claims.map(({ id, plant }) => [String(id), { id: String(id), ...(plant ?? { unreadable: true }) }]))
}
