import { chmodSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endOf, runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { builtOnce } from '../toolchain/built-once.ts'
import { findJava, javaEnvironment } from './java.ts'

const POM = fileURLToPath(new URL('pom.xml', import.meta.url))
const FETCH_TIMEOUT_MS = 600_000
const NO_REDIS = 'install redis-server 6.2 or newer, or set REDIS_URL.'

type Needed = {
  kafka?: boolean
  redis?: boolean
  /** Another than that of `pom.xml`. */
  kafkaVersion?: string
  signal?: AbortSignal | undefined
}
export type Programs = { java: string; kafkaClasspath: string; redisServer: string }

/**
 * Provides the programs of Kafka and Redis for processes on this machine, or of those that are needed. Maven fetches
 * them into `.local/jars-…` once per version of `pom.xml`. Throws a Failure that says what to install.
 */
export async function ensureJars({ kafka = true, redis = true, kafkaVersion, signal }: Needed = {}): Promise<Programs> {
  const java = kafka ? await findJava(signal) : 'java'
  const installedRedis = redis ? await findRedisServer('redis-server', signal) : undefined
  if (!kafka && (installedRedis || !redis)) return { java, kafkaClasspath: '', redisServer: installedRedis ?? '' }
  const options = { waitTimeoutMs: FETCH_TIMEOUT_MS, signal }
  const name = ['jars', kafkaVersion].filter(Boolean).join('-')
  const dir = await builtOnce(name, [POM], options, (folder, onStart) =>
    fetchJars(folder, kafkaVersion, signal, onStart),
  )
  return {
    java,
    kafkaClasspath: join(dir, 'kafka', '*'),
    redisServer: installedRedis ?? join(dir, 'redis', 'redis-server'),
  }
}

async function fetchJars(
  dir: string,
  kafkaVersion: string | undefined,
  signal: AbortSignal | undefined,
  onStart: (pid: number) => void,
): Promise<void> {
  const args = ['-B', '-q', '-f', POM, 'generate-resources', `-Dtarget=${dir}`, `-Dredis.platform=${platform()}`]
  if (kafkaVersion !== undefined) args.push(`-Dkafka.version=${kafkaVersion}`)
  if (kafkaVersion?.startsWith('3.')) args.push('-Pkafka-3')
  const options = { cwd: dir, env: javaEnvironment(), timeoutMs: FETCH_TIMEOUT_MS, signal, onStart }
  const { code, output, missing } = await runCommand('mvn', args, options)
  const instead = 'or start Docker, or set KAFKA_BROKERS and REDIS_URL to a Kafka and a Redis that run elsewhere.'
  if (missing) throw new Failure(`mvn not found: install Maven (it fetches Kafka and Redis), ${instead}`)
  if (code !== 0)
    throw new Failure(
      `Maven could not fetch Kafka and Redis (exit code ${code}):\n${endOf(output)}\nTry again, ${instead}`,
    )
  await prepareRedis(join(dir, 'redis'), signal)
}

/** The platform's name in the file names of the embedded-redis jar. */
function platform(): string {
  const name = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  if (/^(linux|darwin)-(amd64|arm64)$/.test(name)) return name
  throw new Failure(`There is no Redis to fetch for ${name}: ${NO_REDIS}`)
}

async function prepareRedis(dir: string, signal: AbortSignal | undefined): Promise<void> {
  const redisServer = join(dir, 'redis-server')
  for (const name of readdirSync(dir)) renameSync(join(dir, name), redisServer)
  chmodSync(redisServer, 0o755)
  // Known for Linux on x64: it needs OpenSSL 3.
  if (!(await findRedisServer(redisServer, signal)))
    throw new Failure(`The Redis fetched does not run here: ${NO_REDIS}`)
}

/** The command, when it is a Redis 6.2 or newer. */
async function findRedisServer(command: string, signal: AbortSignal | undefined): Promise<string | undefined> {
  const { code, output } = await runCommand(command, ['--version'], { timeoutMs: 20_000, signal })
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(output) ?? []
  const isNewEnough = Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 2)
  return code === 0 && isNewEnough ? command : undefined
}
