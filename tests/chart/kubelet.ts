import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { root } from '../../local/places.mjs'
import { freePort } from '../../local/processes/port.ts'
import { type Exit, startProcess } from '../../local/processes/process.ts'
import { processEnvironment } from '../support/test-run.ts'
import type { PodSpec, Probe } from './helm.ts'

/** The folder in which the chart mounts the files of Secrets. */
const MOUNT = '/run/plant-store/'
const MS_PER_S = 1_000
const BYTES_PER_KIB = 1_024
const BYTES_PER: Record<string, number> = { Mi: 2 ** 20, Gi: 2 ** 30 }

/** The Secrets of the namespace: by name, the text of each key. */
export type Secrets = Record<string, Record<string, string>>

/** A pod of one container as a process, which the probes, grace period and limits of its manifest govern. */
export type Pod = Awaited<ReturnType<typeof startPod>>

/** `folder`: for the pod's log and files. */
export async function startPod(name: string, spec: PodSpec, secrets: Secrets, folder: string) {
  const [container] = spec.containers
  const [port, opsPort] = [await freePort(), await freePort()]
  const env = { ...environmentOf(spec, secrets, join(folder, name)), PORT: String(port), OPS_PORT: String(opsPort) }
  const [, ...args] = container.args ?? imageCommand()
  const running = await startProcess({
    ...{ name, command: process.execPath, args, cwd: root },
    env: { ...processEnvironment, ...env, HOST: '127.0.0.1' },
    logFile: join(folder, `${name}.log`),
  })
  onTestFinished(async () => void (await running.stop({ graceMs: MS_PER_S })))
  const state = { isReady: false, livenessFailures: 0, isEnding: false, ended: false }
  void running.exited.then(() => Object.assign(state, { ended: true, isReady: false }))

  async function untilReady(): Promise<void> {
    while (!state.isReady) {
      if (state.ended) throw new Error(`${name} ended:\n${readFileSync(running.logFile, 'utf8')}`)
      await delay(50)
    }
  }
  if (container.startupProbe !== undefined) {
    const isUp = (probe: Probe) => responds(`http://127.0.0.1:${opsPort}${probe.httpGet.path}`, probe)
    void watch(isUp, container, state, () => running.stop({ graceMs: MS_PER_S }))
  }
  return {
    ...{ port, state, running, untilReady },

    /** SIGTERM, and SIGKILL after the grace period. */
    end(): Promise<Exit> {
      state.isEnding = true
      return running.stop({ graceMs: spec.terminationGracePeriodSeconds * MS_PER_S })
    },

    /** The most memory that it has had so far. */
    peakBytes: () => peakBytesOf(running.pid),

    memoryLimitBytes: bytesOf(container.resources.limits.memory),
  }
}

/** Resolves with the exit code of a pod that runs to its end. */
export async function runPod(name: string, spec: PodSpec, secrets: Secrets, folder: string): Promise<Exit> {
  return (await startPod(name, spec, secrets, folder)).running.exited
}

type State = { isReady: boolean; livenessFailures: number; isEnding: boolean; ended: boolean }

/** Probes until the process ends: first whether it has started, and ends it if not, then whether it lives and is ready. */
async function watch(
  isUp: (probe: Probe) => Promise<boolean>,
  { startupProbe, livenessProbe, readinessProbe }: PodSpec['containers'][0],
  state: State,
  end: () => Promise<unknown>,
): Promise<void> {
  for (let failures = 0; !state.ended && !(await isUp(startupProbe)); ) {
    if (++failures === startupProbe.failureThreshold) return void (await end())
    await delay(startupProbe.periodSeconds * MS_PER_S)
  }
  void repeat(livenessProbe, async () => {
    // A kubelet does not ask a pod that is ending.
    if (!(await isUp(livenessProbe)) && !state.isEnding) state.livenessFailures++
  })
  let failures = 0
  void repeat(readinessProbe, async () => {
    failures = (await isUp(readinessProbe)) ? 0 : failures + 1
    if (failures === 0) state.isReady = !state.ended
    else if (failures >= readinessProbe.failureThreshold) state.isReady = false
  })
  async function repeat({ periodSeconds }: Probe, probe: () => Promise<void>): Promise<void> {
    while (!state.ended) {
      await probe()
      await delay(periodSeconds * MS_PER_S, undefined, { ref: false })
    }
  }
}

const responds = (url: string, { timeoutSeconds = 1 }: Probe) =>
  fetch(url, { signal: AbortSignal.timeout(timeoutSeconds * MS_PER_S) }).then(
    ({ ok }) => ok,
    () => false,
  )

/** The variables of the container, with the mounted files written below `folder` instead. */
function environmentOf({ containers, volumes = [] }: PodSpec, secrets: Secrets, folder: string) {
  for (const { secret } of volumes.flatMap(({ projected }) => projected.sources)) {
    for (const { key, path } of secret.items) {
      const file = join(folder, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, secrets[secret.name]?.[key] ?? '')
    }
  }
  return Object.fromEntries(
    containers[0].env.map(({ name, value = '' }) => [
      name,
      value.startsWith(MOUNT) ? join(folder, value.slice(MOUNT.length)) : value,
    ]),
  )
}

/** The command of the image, which runs unless a pod names another one. */
function imageCommand(): string[] {
  const [, command = ''] = readFileSync(join(root, 'Dockerfile'), 'utf8').match(/^CMD (\[.*\])$/m) ?? []
  return JSON.parse(command)
}

function bytesOf(quantity: string): number {
  const [, count, unit = ''] = quantity.match(/^(\d+)(Mi|Gi)$/) ?? []
  return Number(count) * (BYTES_PER[unit] ?? Number.NaN)
}

/** Not a number where this is no Linux. */
function peakBytesOf(pid: number): number {
  const [, kib] = readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmHWM:\s*(\d+) kB$/m) ?? []
  return Number(kib) * BYTES_PER_KIB
}
