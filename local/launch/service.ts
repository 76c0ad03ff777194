import { once } from 'node:events'
import { get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { root } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { startProcess, untilReady } from '../processes/process.ts'
import { sideBySide } from '../processes/side-by-side.ts'
import { step } from './progress.ts'
import { type Service, type ServiceKind, type Settings, servicesOf, urlsOf } from './settings.ts'
import { environmentFor, type Launch, type Stores } from './stores.ts'
import { digestOf } from './token.ts'

const SETUP_TIMEOUT_MS = 60_000

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

/**
 * Prepares the topic, and starts all services until they are ready. On a failure it ends what is half started; the
 * caller stops what was handed to `keep`. Throws a Failure.
 */
export async function startServices({ settings, token, keep }: Launch, stores: Stores, signal: AbortSignal) {
  async function setUp(script: string): Promise<void> {
    const options = { cwd: root, env: environmentFor(stores, settings, 'setup'), timeoutMs: SETUP_TIMEOUT_MS, signal }
    const { code, output } = await runCommand(process.execPath, [join('local', script)], options)
    if (code !== 0) throw new Failure(`Topic ${settings.topic} cannot be used:\n${endOf(output)}`)
  }
  async function startService(service: Service, signal: AbortSignal): Promise<void> {
    const { name, kind, port, opsPort } = service
    const logFile = join(settings.localDir, 'logs', `${name}.log`)
    const listens = { host: settings.host, ports: port === undefined ? [opsPort] : [port, opsPort] }
    const env = environmentOf(service, settings, stores, token)
    const program = { name, command: process.execPath, args: argumentsOf(kind), cwd: root, env, logFile, ...listens }
    const url = `${urlsOf(settings).opsUrls[name]}/readyz`
    let last = 'its operations port does not respond'
    async function isReady(): Promise<boolean> {
      try {
        // A new agent, unlike fetch, does not use a proxy of the environment.
        const [response] = await once(get(url, { agent: false, signal: AbortSignal.timeout(2000) }), 'response')
        last = `/readyz responds with ${(await text(response)).trim()}`
        return response.statusCode === 200
      } catch {
        return false
      }
    }
    await step(`Service ${name}`, async () => {
      const running = await startProcess(program)
      await untilReady(running, { signal, isReady, why: () => ` ${last}` })
      keep(running, () => startProcess(program))
    })
  }

  if (settings.cluster) await step('Rights in Kafka', () => setUp('grant-rights.ts'))
  await step(`Topic ${settings.topic}`, () => setUp('create-topic.ts'))
  const services = servicesOf(settings)
  await sideBySide(signal, ...services.map((service) => (signal: AbortSignal) => startService(service, signal)))
}

/** Other settings in the environment (a log level, a deadline) are passed on to the services. */
function environmentOf({ kind, port, opsPort }: Service, settings: Settings, stores: Stores, token: string) {
  // Callers need the token; the services need only its digest.
  const { PLANT_STORE_TOKEN: _, ...own } = environmentFor(stores, settings, kind)
  const env = { ...own, HOST: settings.host, OPS_PORT: String(opsPort) }
  const digests = [own.PLANT_STORE_TOKEN_DIGESTS, digestOf(token)].filter(Boolean).join()
  return port === undefined ? env : { ...env, PORT: String(port), PLANT_STORE_TOKEN_DIGESTS: digests }
}
