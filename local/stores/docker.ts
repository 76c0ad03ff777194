import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { answersKafka } from './kafka.ts'
import { answersPing } from './redis.ts'

export type Store = 'kafka' | 'redis'

const QUESTION_TIMEOUT_MS = 10_000
const COMMAND_TIMEOUT_MS = 120_000
const PULL_TIMEOUT_MS = 600_000
const START_TIMEOUT_MS = 60_000
const isUp = { kafka: answersKafka, redis: answersPing }

/** The reason why Docker cannot be used, if there is one. */
export async function whyNoDocker(signal?: AbortSignal): Promise<string | undefined> {
  const found = await ask(['version', '--format', '{{.Server.Version}}'], signal)
  if (found.missing) return 'there is no docker command'
  if (found.code !== 0) return `no Docker engine responds (${endOf(found.output, 1).trim()})`
  return (await ask(['compose', 'version'], signal)).code === 0 ? undefined : 'Docker has no compose plugin'
}

/** The reason why an image cannot be had; undefined when all are there. */
export async function pullMissingImages(signal?: AbortSignal): Promise<string | undefined> {
  for (const image of Object.values(storeImages())) {
    if ((await ask(['image', 'inspect', image], signal)).code === 0) continue
    const { code, output } = await ask(['pull', '--quiet', image], signal, PULL_TIMEOUT_MS)
    if (code !== 0) return `Docker can't get ${image} (${endOf(output, 1).trim()})`
  }
  return undefined
}

/** Asks docker what may fail, or take too long, which counts as the same. */
async function ask(args: string[], signal?: AbortSignal, timeoutMs = QUESTION_TIMEOUT_MS) {
  try {
    return await runCommand('docker', args, { timeoutMs, signal })
  } catch (error) {
    if (signal?.aborted || !(error instanceof Failure)) throw error
    return { code: null, output: error.message, missing: false }
  }
}

/** Projects started here and not yet stopped. */
const living = new Set<string>()

/**
 * Starts the Kafka and the Redis of docker-compose.yml, or one of them, as a separate compose project, whose volumes are
 * named after it. Resolves when they serve at these ports of 127.0.0.1. The engine restarts a container that crashes.
 */
export async function startContainers(project: string, ports: { [S in Store]?: number }, signal: AbortSignal) {
  living.add(project)
  const set = Object.entries(ports).map(([store, port]) => [`${store.toUpperCase()}_PORT`, String(port)])
  // They belong to a program that runs now: the engine must not bring them back after a reboot.
  const env = { ...Object.fromEntries(set), PLANT_STORE_RESTART: 'on-failure' }
  await compose(project, ['up', '--detach', '--no-build', ...Object.keys(ports)], { env, signal })
  const deadline = performance.now() + START_TIMEOUT_MS
  for (const [store, port] of Object.entries(ports) as [Store, number][])
    while (!(await isUp[store](port))) {
      signal.throwIfAborted()
      if (performance.now() > deadline) {
        const logged = endOf(await compose(project, ['logs', '--no-color', '--tail', '8', store], { signal }))
        throw new Failure(
          `${store} in Docker did not answer on 127.0.0.1:${port} for ${START_TIMEOUT_MS / 1000} s. If the ` +
            `engine is on another machine, use --with processes. The end of its log:\n${logged}`,
        )
      }
      await delay(100)
    }
}

/** Ends and removes the containers of a project; their volumes stay unless `--volumes` is given. */
export async function removeContainers(project: string, ...options: '--volumes'[]): Promise<void> {
  await compose(project, ['down', '--timeout', '3', ...options])
  living.delete(project)
}

/** Stops and removes the containers of everything started here. */
export async function stopLivingContainers(): Promise<void> {
  await Promise.all(Array.from(living, (project) => removeContainers(project)))
}

/** The last resort: ends everything started here at once. */
export function killLivingContainers(): void {
  for (const project of living)
    spawnSync('docker', ['compose', '--project-name', project, 'kill'], { timeout: QUESTION_TIMEOUT_MS })
}

type ComposeOptions = { env?: NodeJS.ProcessEnv; files?: readonly string[]; signal?: AbortSignal | undefined }

/** Runs a compose command with these files, and these settings for them. Resolves to its output; throws a Failure. */
export async function compose(project: string, args: string[], options: ComposeOptions = {}): Promise<string> {
  const { env, files = ['docker-compose.yml'], signal } = options
  const which = ['--project-directory', root, ...files.flatMap((file) => ['--file', join(root, file)])]
  const running = { env: { ...process.env, ...env }, timeoutMs: COMMAND_TIMEOUT_MS, signal }
  const words = ['compose', '--project-name', project, ...which, ...args]
  const { code, output } = await runCommand('docker', words, running)
  if (code !== 0) throw new Failure(`docker compose ${args[0]} failed:\n${endOf(output)}`)
  return output
}

/** The images that docker-compose.yml names, which is where their versions are chosen. */
export function storeImages(): Record<Store, string> {
  const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8')
  function named(repository: string): string {
    const image = new RegExp(`^ +image: (${repository}:\\S+)$`, 'm').exec(text)?.[1]
    if (image === undefined) throw new Error(`docker-compose.yml names no image of ${repository}.`)
    return image
  }
  return { kafka: named('apache/kafka'), redis: named('redis') }
}
