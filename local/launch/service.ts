import { once } from 'node:events'
import { get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { root } from '../places.mjs'
import { type RunningProcess, startProcess, untilReady } from '../processes/process.ts'
import type { Service, ServiceKind, Settings } from './settings.ts'
import { environmentFor, type Stores } from './stores.ts'
import { digestOf } from './token.ts'

const START_TIMEOUT_MS = 60_000

export type Environment = { settings: Settings; stores: Stores; token: string }

/**
 * V8 allocates objects directly in the old generation when many from the same place have once survived a scavenge. The
 * objects of requests do so while 256 are in flight. From then on each scavenge copies what they refer to, dead objects
 * included, and takes 20 ms instead of 1. The Dockerfile sets the same option.
 */
export const API_NODE_OPTIONS = ['--no-allocation-site-pretenuring']

/** Node's own options, and the program: of another release if its folder is given. */
export const argumentsOf = (kind: ServiceKind, folder = root) => [
  ...(kind === 'api' ? API_NODE_OPTIONS : []),
  join(folder, 'services', kind, 'src', 'main.ts'),
]

/**
 * How long a service may take to end: longer than it allows itself (`runService`; an api drains first), because after
 * SIGKILL a create in flight gets no response.
 */
export const stopGraceMs = (kind: ServiceKind, { DRAIN_MS }: NodeJS.ProcessEnv) =>
  Math.max(10_000, kind === 'api' ? Number(DRAIN_MS || 500) + 9_500 : 0)

/** Resolves at once, before the service is ready. */
export function startService(service: Service, environment: Environment): Promise<RunningProcess> {
  const { name, kind, port, opsPort } = service
  const { settings } = environment
  const [logFile, env] = [join(settings.localDir, 'logs', `${name}.log`), environmentOf(service, environment)]
  const listens = { host: settings.host, ports: port === undefined ? [opsPort] : [port, opsPort] }
  return startProcess({ name, command: process.execPath, args: argumentsOf(kind), cwd: root, env, logFile, ...listens })
}

export async function untilServiceReady(running: RunningProcess, opsUrl: string, signal: AbortSignal): Promise<void> {
  let lastResponse = 'its operations port does not respond'
  async function isReady(): Promise<boolean> {
    try {
      // A new agent, unlike fetch, does not use a proxy of the environment.
      const request = get(`${opsUrl}/readyz`, { agent: false, signal: AbortSignal.timeout(2000) })
      const [response] = await once(request, 'response')
      lastResponse = `/readyz responds with ${(await text(response)).trim()}`
      return response.statusCode === 200
    } catch {
      return false
    }
  }
  await untilReady(running, { startTimeoutMs: START_TIMEOUT_MS, signal, isReady, why: () => ` ${lastResponse}` })
}

/** Other settings in the environment (a log level, a deadline) are passed on to the services. */
function environmentOf({ kind, port, opsPort }: Service, { settings, stores, token }: Environment): NodeJS.ProcessEnv {
  // Callers need the token; the services need only its digest.
  const { PLANT_STORE_TOKEN: _, ...own } = environmentFor(stores, settings, kind)
  const env = { ...own, HOST: settings.host, OPS_PORT: String(opsPort) }
  const digests = [own.PLANT_STORE_TOKEN_DIGESTS, digestOf(token)].filter(Boolean).join()
  return port === undefined ? env : { ...env, PORT: String(port), PLANT_STORE_TOKEN_DIGESTS: digests }
}
