import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { answersKafka } from './kafka.mjs'
import { answersPing } from './redis.mjs'

/** @typedef {'kafka' | 'redis'} Store */

const questionTimeoutMs = 10_000
const commandTimeoutMs = 120_000
const pullTimeoutMs = 600_000
const endAtOnceTimeoutMs = 10_000

/**
 * The reason why Docker cannot be used, if there is one.
 *
 * @param {AbortSignal} [signal]
 * @returns {Promise<string | undefined>}
 */
export async function whyNoDocker(signal) {
  const found = await ask('docker', ['version', '--format', '{{.Server.Version}}'], signal)
  if (found.missing) return 'there is no docker command'
  if (found.code !== 0) return `no Docker engine responds (${endOf(found.output, 1).trim()})`
  if (!(await findCompose(signal))) return 'Docker has no compose plugin'
  return undefined
}

/**
 * @param {AbortSignal} [signal]
 * @returns {Promise<string | undefined>} why an image can't be had; undefined when all are there
 */
export async function pullMissingImages(signal) {
  for (const image of Object.values(storeImages())) {
    if ((await ask('docker', ['image', 'inspect', image], signal)).code === 0) continue
    const { code, output } = await ask('docker', ['pull', '--quiet', image], signal, pullTimeoutMs)
    if (code !== 0) return `Docker can't get ${image} (${endOf(output, 1).trim()})`
  }
  return undefined
}

/**
 * The Kafka and the Redis of docker-compose.yml, as a separate compose project. The engine restarts a container that
 * crashes.
 *
 * @param {string} project its name; its data are in volumes named after it
 */
export function createContainers(project) {
  return {
    project,

    /**
     * Starts these stores and resolves when they serve.
     *
     * @param {Store[]} stores
     * @param {{ ports: Record<Store, number>, startTimeoutMs: number, signal: AbortSignal }} options ports: on 127.0.0.1
     */
    async start(stores, { ports, startTimeoutMs, signal }) {
      living.add(project)
      const env = {
        KAFKA_PORT: String(ports.kafka),
        REDIS_PORT: String(ports.redis),
        // They belong to a program that runs now: the engine must not bring them back after a reboot.
        PLANT_STORE_RESTART: 'on-failure',
      }
      await compose(project, ['up', '--detach', '--no-build', ...stores], { env, signal })
      for (const store of stores) await untilUp(project, store, ports[store], { startTimeoutMs, signal })
    },

    /** Stops and removes the containers; their volumes stay. */
    async stop() {
      await compose(project, ['down', '--timeout', '3'])
      living.delete(project)
    },

    /** Ends them and removes what they stored. */
    async forget() {
      await compose(project, ['down', '--timeout', '3', '--volumes'])
      living.delete(project)
    },
  }
}

const isUp = { kafka: answersKafka, redis: answersPing }

/**
 * @param {string} project
 * @param {Store} store
 * @param {number} port
 * @param {{ startTimeoutMs: number, signal: AbortSignal }} options
 */
async function untilUp(project, store, port, { startTimeoutMs, signal }) {
  const deadline = Date.now() + startTimeoutMs
  while (!(await isUp[store](port))) {
    signal.throwIfAborted()
    if (Date.now() > deadline) {
      const logged = endOf(await compose(project, ['logs', '--no-color', '--tail', '8', store], { signal }))
      throw new Failure(
        `${store} in Docker did not answer on 127.0.0.1:${port} for ${startTimeoutMs / 1000} s. If the engine is on ` +
          `another machine, use --with processes. The end of its log:\n${logged}`,
      )
    }
    await delay(100)
  }
}

/** Projects started here and not yet stopped. @type {Set<string>} */
const living = new Set()

/** The last resort: ends everything started here at once. */
export function killLivingContainers() {
  for (const project of living) {
    const filter = ['--filter', `label=com.docker.compose.project=${project}`]
    const options = { encoding: /** @type {const} */ ('utf8'), timeout: endAtOnceTimeoutMs }
    const ids = spawnSync('docker', ['ps', '--quiet', ...filter], options)
      .stdout.split('\n')
      .filter(Boolean)
    if (ids.length > 0) spawnSync('docker', ['kill', ...ids], options)
  }
}

/**
 * Runs a compose command.
 *
 * @param {string} project
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, files?: readonly string[], signal?: AbortSignal }} [options] env: settings of the
 *   compose files
 * @returns {Promise<string>} its output
 * @throws {Failure}
 */
export async function compose(project, args, { env, files = ['docker-compose.yml'], signal } = {}) {
  const [command, ...first] = (await findCompose(signal)) ?? []
  if (!command) throw new Failure('Docker has no compose plugin: install it, or use --with processes.')
  const which = ['--project-directory', root, ...files.flatMap((file) => ['--file', join(root, file)])]
  const options = { env: { ...process.env, ...env }, timeoutMs: commandTimeoutMs, signal }
  const { code, output } = await runCommand(command, [...first, '--project-name', project, ...which, ...args], options)
  if (code !== 0) throw new Failure(`docker compose ${args[0]} failed:\n${endOf(output)}`)
  return output
}

/**
 * The first words of a compose command. They are looked up once, because each look-up costs a process or two.
 *
 * @type {string[] | undefined}
 */
let composeWords

/** @param {AbortSignal} [signal] */
async function findCompose(signal) {
  composeWords ??= await lookForCompose(signal)
  return composeWords
}

/**
 * @param {AbortSignal} [signal]
 * @returns {Promise<string[] | undefined>} the plugin of docker, or the separate program of an old installation
 */
async function lookForCompose(signal) {
  if ((await ask('docker', ['compose', 'version'], signal)).code === 0) return ['docker', 'compose']
  if ((await ask('docker-compose', ['version'], signal)).code === 0) return ['docker-compose']
  return undefined
}

/**
 * Runs a command that may fail, or take too long, which counts as the same.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {AbortSignal} [signal]
 * @param {number} [timeoutMs]
 * @returns {Promise<{ code: number | null, output: string, missing: boolean }>}
 */
async function ask(command, args, signal, timeoutMs = questionTimeoutMs) {
  try {
    return await runCommand(command, args, { timeoutMs, signal })
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof Failure) return { code: null, output: error.message, missing: false }
    throw error
  }
}

/**
 * The images that docker-compose.yml names, which is where their versions are chosen.
 *
 * @returns {{ kafka: string, redis: string }}
 */
export function storeImages() {
  const compose = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8')
  const named = (/** @type {string} */ repository) => {
    const image = new RegExp(`^ +image: (${repository}:\\S+)$`, 'm').exec(compose)?.[1]
    if (!image) throw new Error(`docker-compose.yml names no image of ${repository}.`)
    return image
  }
  return { kafka: named('apache/kafka'), redis: named('redis') }
}
