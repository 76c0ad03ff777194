import { join } from 'node:path'
import { runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'

const oldestJava = 17

/**
 * @param {AbortSignal} [signal]
 * @returns {Promise<string>} the java program: of JAVA_HOME when that is set, else the one on the PATH
 * @throws {Failure} when there is none that Kafka runs on
 */
export async function findJava(signal) {
  const { JAVA_HOME } = process.env
  const java = JAVA_HOME ? join(JAVA_HOME, 'bin', 'java') : 'java'
  const advice = `Install Java ${oldestJava} or newer (for Kafka), or start Docker, or set KAFKA_BROKERS to a Kafka of yours.`
  const { code, output, missing } = await runCommand(java, ['-version'], { timeoutMs: 20_000, signal })
  // macOS has a java that only says that there is none.
  if (missing || code !== 0) throw new Failure(`${java} not found or not working: ${advice}`)
  const version = /version "([^"]+)"/.exec(output)?.[1] ?? 'unknown'
  // Java 8 called itself 1.8.
  const major = Number(version.replace(/^1\./, '').split(/[.\-+]/)[0])
  if (!(major >= oldestJava)) throw new Failure(`${java} is version ${version}, which is too old. ${advice}`)
  return java
}
