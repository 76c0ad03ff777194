import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheDir } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.mjs'
import { findJava, javaEnvironment } from './java.mjs'

const pom = fileURLToPath(new URL('pom.xml', import.meta.url))

/**
 * Provides the programs of Kafka and Redis for processes on this machine. Maven fetches them into `.local/jars-…` once
 * per version of `pom.xml`.
 *
 * @param {object} [options]
 * @param {boolean} [options.kafka] false: Kafka is not needed
 * @param {boolean} [options.redis] false: Redis is not needed
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<{ java: string, kafkaClasspath: string, redisServer: string }>}
 * @throws {Failure} that says what to install
 */
export async function ensureJars({ kafka = true, redis = true, signal } = {}) {
  const java = kafka ? await findJava(signal) : 'java'
  const installedRedis = redis ? await findRedisServer('redis-server', signal) : undefined
  const dir = join(cacheDir, `jars-${createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 12)}`)
  const fetchIsNeeded = kafka || (redis && !installedRedis)
  if (fetchIsNeeded && !isComplete(dir)) {
    const lock = { waitTimeoutMs: 600_000, signal }
    await withLock(`${dir}.lock`, lock, async (alsoHeldBy) => {
      if (!isComplete(dir)) await fetchJars(dir, signal, alsoHeldBy)
    })
  }
  return {
    java,
    kafkaClasspath: join(dir, 'kafka', '*'),
    redisServer: installedRedis ?? join(dir, 'redis', 'redis-server'),
  }
}

/** @param {string} dir */
const isComplete = (dir) => existsSync(join(dir, 'complete'))

/**
 * Fetches into a folder next to the final one and renames it: a folder with the final name is always complete.
 *
 * @param {string} dir
 * @param {AbortSignal | undefined} signal
 * @param {(pid: number) => void} alsoHeldBy
 */
async function fetchJars(dir, signal, alsoHeldBy) {
  const part = `${dir}.part`
  rmSync(part, { recursive: true, force: true })
  const args = ['-B', '-q', '-f', pom, 'generate-resources', `-Dtarget=${part}`, `-Dredis.platform=${platform()}`]
  const options = { cwd: cacheDir, env: javaEnvironment(), timeoutMs: 600_000, signal, onStart: alsoHeldBy }
  const { code, output, missing } = await runCommand('mvn', args, options)
  const instead = 'or start Docker, or set KAFKA_BROKERS and REDIS_URL to a Kafka and a Redis that run elsewhere.'
  if (missing) throw new Failure(`mvn not found: install Maven (it fetches Kafka and Redis), ${instead}`)
  if (code !== 0) {
    throw new Failure(
      `Maven could not fetch Kafka and Redis (exit code ${code}):\n${endOf(output)}\nTry again, ${instead}`,
    )
  }
  await prepareRedis(join(part, 'redis'), signal)
  writeFileSync(join(part, 'complete'), '')
  rmSync(dir, { recursive: true, force: true })
  renameSync(part, dir)
}

/** The platform's name in the file names of the embedded-redis jar. */
function platform() {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `${process.platform}-${arch}`
  const known = ['linux-amd64', 'linux-arm64', 'darwin-amd64', 'darwin-arm64']
  if (known.includes(name)) return name
  throw new Failure(`There is no Redis to fetch for ${name}: install redis-server 6.2 or newer, or set REDIS_URL.`)
}

/**
 * @param {string} dir
 * @param {AbortSignal | undefined} signal
 */
async function prepareRedis(dir, signal) {
  const redisServer = join(dir, 'redis-server')
  for (const name of readdirSync(dir)) renameSync(join(dir, name), redisServer)
  chmodSync(redisServer, 0o755)
  if (await findRedisServer(redisServer, signal)) return
  // Known for Linux on x64: it needs OpenSSL 3.
  throw new Failure('The Redis fetched does not run here: install redis-server 6.2 or newer, or set REDIS_URL.')
}

/**
 * @param {string} command
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<string | undefined>} the command when it is a Redis 6.2 or newer
 */
async function findRedisServer(command, signal) {
  const { code, output } = await runCommand(command, ['--version'], { timeoutMs: 20_000, signal })
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(output) ?? []
  const isNewEnough = Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 2)
  return code === 0 && isNewEnough ? command : undefined
}
