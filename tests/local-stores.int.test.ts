import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { ensureKafka } from '../local/stores/jars.ts'
import { defaultJavaArgs, startKafka } from '../local/stores/kafka.ts'
import { startRedis } from '../local/stores/redis.ts'
import { redisProcesses } from './support/redis-processes.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const PASSWORD = 'of-nobody-else'

/** A program that runs as Java does, after these lines of a shell. */
function javaAfter(folder: string, lines: string): string {
  const java = join(folder, 'java')
  writeFileSync(java, `#!/bin/sh\n${lines}\nexec java "$@"\n`, { mode: 0o755 })
  return java
}

// A machine that runs the tests in Docker may have no Java.
it.skipIf(inject('storeSource') === 'docker')(
  'Kafka starts below a path that is not ASCII, whatever the language of Java, and without passwords in arguments',
  async () => {
    const folder = temporaryFolder()
    const place = join(folder, 'Gärten İ 花園')
    mkdirSync(place)
    const { classpath } = await ensureKafka()
    symlinkSync(dirname(classpath), join(place, 'jars'))
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('JAVA_TOOL_OPTIONS', '-Duser.language=tr -Dfile.encoding=ISO-8859-9')
    vi.stubEnv('LC_ALL', 'C')
    const kafka = await startKafka({
      ...{ dir: place, logFile: join(place, 'kafka.log'), classpath: join(place, 'jars', '*') },
      java: javaAfter(folder, `echo "$@" >>'${folder}/arguments'`),
      formatArgs: ['--add-scram', `SCRAM-SHA-512=[name=api,password=${PASSWORD}]`],
    })
    await kafka.stop({ graceMs: 10_000 })
    expect(readFileSync(join(folder, 'arguments'), 'utf8')).toContain('kafka.Kafka')
    expect(readFileSync(join(folder, 'arguments'), 'utf8')).not.toContain(PASSWORD)
  },
)

it.skipIf(inject('storeSource') === 'docker')('Kafka takes its classes from the archive beside its jars', async () => {
  const folder = temporaryFolder()
  const loaded = join(folder, 'classes')
  const program = await ensureKafka()
  const kafka = await startKafka({
    ...{ dir: folder, logFile: join(folder, 'kafka.log'), ...program },
    javaArgs: [...defaultJavaArgs, `-Xlog:class+load:file=${loaded}`],
  })
  await kafka.stop({ graceMs: 10_000 })
  expect(readFileSync(loaded, 'utf8')).toMatch(/kafka\.server\.KafkaRaftServer source: shared objects file/)
})

it('a data directory that cannot be formatted: the first line of the exception is shown', async () => {
  const folder = temporaryFolder()
  const frames = Array.from({ length: 20 }, (_, n) => `printf '\\tat kafka.Frame.m(Frame.scala:${n})\\n'`)
  const lines = [
    'echo "Exception in thread \\"main\\" java.lang.IllegalStateException: the reason"',
    ...frames,
    'exit 1',
  ]
  const options = { dir: folder, logFile: join(folder, 'kafka.log'), classpath: '.' }
  const started = startKafka({ ...options, java: javaAfter(folder, lines.join('\n')) })
  await expect(started).rejects.toThrow('IllegalStateException: the reason')
})

it.skipIf(inject('storeSource') === 'docker')('a Redis on the port of another one does not start', async () => {
  const { dir, ...processes } = await redisProcesses()
  const options = { ...processes, dir, logFile: join(dir, 'redis.log') }
  const { port } = await startRedis(options)
  await expect(startRedis({ ...options, port })).rejects.toThrow(`port ${port} of 127.0.0.1 is in use`)
})
