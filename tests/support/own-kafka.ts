import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ensureJars } from '../../local/jars.mjs'
import { startKafka } from '../../local/kafka.mjs'
import { temporaryFolder } from './temporary-folder.ts'

const STOP_GRACE_MS = 10_000

/** A Kafka of this test alone, to be paused; it ends with the test. */
export async function startOwnKafka() {
  const { kafkaClasspath: classpath, java } = await ensureJars({ redis: false })
  const dir = temporaryFolder()
  const kafka = await startKafka({ dir, classpath, java, logFile: join(dir, 'kafka.log') })
  const resume = () => process.kill(-kafka.pid, 'SIGCONT')
  onTestFinished(async () => {
    resume()
    await kafka.stop({ graceMs: STOP_GRACE_MS })
  })
  return {
    brokers: kafka.brokers,
    /** Keeps its connections and answers nothing, like a broker that hangs. */
    pause: () => process.kill(-kafka.pid, 'SIGSTOP'),
    resume,
  }
}
