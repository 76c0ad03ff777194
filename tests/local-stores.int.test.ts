import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { ensureKafka } from '../local/stores/jars.ts'
import { startKafka } from '../local/stores/kafka.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const PASSWORD = 'of-nobody-else'

// A machine that runs the tests in Docker may have no Java.
it.skipIf(inject('storeSource') === 'docker')(
  'Kafka starts below a path with a comma and beyond ASCII, in each language of Java, without passwords in arguments',
  async () => {
    const folder = temporaryFolder()
    const place = join(folder, 'Gärten, İ 花園')
    mkdirSync(place)
    const java = join(folder, 'java')
    writeFileSync(java, `#!/bin/sh\necho "$@" >>'${folder}/arguments'\nexec java "$@"\n`, { mode: 0o755 })
    const { classpath } = await ensureKafka()
    symlinkSync(dirname(classpath), join(place, 'jars'))
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('JAVA_TOOL_OPTIONS', '-Duser.language=tr -Dfile.encoding=ISO-8859-9')
    vi.stubEnv('LC_ALL', 'C')
    const kafka = await startKafka({
      ...{ dir: place, logFile: join(place, 'kafka.log'), classpath: join(place, 'jars', '*') },
      java,
      formatArgs: ['--add-scram', `SCRAM-SHA-512=[name=api,password=${PASSWORD}]`],
    })
    await kafka.stop({ graceMs: 10_000 })
    expect(existsSync(join(place, 'data', 'meta.properties'))).toBe(true)
    expect(readFileSync(join(folder, 'arguments'), 'utf8')).toContain('kafka.Kafka')
    expect(readFileSync(join(folder, 'arguments'), 'utf8')).not.toContain(PASSWORD)
  },
)
