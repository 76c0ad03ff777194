import { join } from 'node:path'
import { runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'

/**
 * Arguments of every Java program: Kafka changes the case of its names by the rules of the language, which differ in
 * Turkish. They override JAVA_TOOL_OPTIONS and the locale.
 */
export const JAVA_LANGUAGE = ['-Duser.language=en', '-Dfile.encoding=UTF-8']

/** The environment of every Java program. Java decodes paths by the locale only. Maven takes its arguments from here. */
export function javaEnvironment(): NodeJS.ProcessEnv {
  const { _JAVA_OPTIONS, MAVEN_OPTS = '', ...env } = process.env
  const language = JAVA_LANGUAGE.join(' ')
  return {
    ...env,
    LC_ALL: process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8',
    MAVEN_OPTS: `${MAVEN_OPTS} ${language}`.trim(),
    // They override arguments.
    ...(_JAVA_OPTIONS && { _JAVA_OPTIONS: `${_JAVA_OPTIONS} ${language}` }),
  }
}

const OLDEST = 17

/** The program, and what it says of its version. */
export type Java = { java: string; about: string }

/**
 * The java program of JAVA_HOME when that is set, else the one on the PATH. Throws a Failure when there is none that
 * Kafka runs on.
 */
export async function findJava(signal?: AbortSignal): Promise<Java> {
  const { JAVA_HOME } = process.env
  const java = JAVA_HOME ? join(JAVA_HOME, 'bin', 'java') : 'java'
  const advice = `Install Java ${OLDEST} or newer, correct JAVA_HOME if set, or start Docker, or set KAFKA_BROKERS.`
  const { code, output, missing } = await runCommand(java, ['-version'], { timeoutMs: 20_000, signal })
  // macOS has a stub named java that only prints that Java is missing.
  if (missing || code !== 0) throw new Failure(`${java} not found or not working: ${advice}`)
  // Java 8 called itself 1.8.
  const [, version = 'unknown', major] = /version "((?:1\.)?(\d+)[^"]*)"/.exec(output) ?? []
  if (!(Number(major) >= OLDEST)) throw new Failure(`${java} is version ${version}, which is too old. ${advice}`)
  return { java, about: output }
}
