import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { root } from '../../local/places.mjs'
import { freePort } from '../../local/processes/port.ts'
import { type Exit, startProcess, untilReady as untilProcessReady } from '../../local/processes/process.ts'
import { processEnvironment } from '../support/test-run.ts'
import type { PodSpec, Probe } from './helm.ts'

/** The folder in which the chart mounts the files of Secrets. */
const MOUNT = '/run/plant-store/'
const MS_PER_S = 1_000

/** The Secrets of the namespace: by name, the text of each key. */
export type Secrets = Record<string, Record<string, string>>

/** A pod of one container as a process, which the probes and the grace period of its manifest govern. */
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
  let livenessFailures = 0
  let isEnding = false
  onTestFinished(async () => {
    isEnding = true
    await running.stop({ graceMs: MS_PER_S })
  })

  const isUp = ({ httpGet, timeoutSeconds = 1 }: Probe) =>
    fetch(`http://127.0.0.1:${opsPort}${httpGet.path}`, {
      signal: AbortSignal.timeout(timeoutSeconds * MS_PER_S),
    }).then(
      ({ ok }) => ok,
      () => false,
    )

  /** As a kubelet: a pod has started, before it is asked whether it is ready. From then on it has to live. */
  async function untilReady(): Promise<void> {
    const { startupProbe, readinessProbe, livenessProbe } = container
    const startTimeoutMs = startupProbe.failureThreshold * startupProbe.periodSeconds * MS_PER_S
    await untilProcessReady(running, { isReady: () => isUp(startupProbe), startTimeoutMs })
    void watch(livenessProbe)
    await untilProcessReady(running, { isReady: () => isUp(readinessProbe), startTimeoutMs })
  }

  /** A kubelet does not ask a pod that is ending. */
  async function watch(probe: Probe): Promise<void> {
    while (!isEnding) {
      if (!(await isUp(probe)) && !isEnding) livenessFailures++
      await delay(probe.periodSeconds * MS_PER_S, undefined, { ref: false })
    }
  }

  return {
    ...{ port, running, untilReady },
    livenessFailures: () => livenessFailures,

    /** SIGTERM, and SIGKILL after the grace period. */
    end(): Promise<Exit> {
      isEnding = true
      return running.stop({ graceMs: spec.terminationGracePeriodSeconds * MS_PER_S })
    },
  }
}

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
