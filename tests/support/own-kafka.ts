import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'
import { ensureJars } from '../../local/stores/jars.mjs'
import { startKafka } from '../../local/stores/kafka.mjs'
import { temporaryFolder } from './temporary-folder.ts'

const STOP_GRACE_MS = 10_000

/** A Kafka of this test alone, to be paused or killed; it ends with the test. */
export async function startOwnKafka() {
  const { kafkaClasspath: classpath, java } = await ensureJars({ redis: false })
  const dir = temporaryFolder()
  const options = { dir, classpath, java, logFile: join(dir, 'kafka.log') }
  let kafka = await startKafka(options)
  const resume = () => process.kill(-kafka.pid, 'SIGCONT')
  onTestFinished(async () => {
    resume()
    await kafka.stop({ graceMs: STOP_GRACE_MS })
  })
  return {
    brokers: kafka.brokers,
    /** Keeps its connections and answers nothing, like a broker that hangs. Resolves when it has stopped. */
    async pause(): Promise<void> {
      process.kill(-kafka.pid, 'SIGSTOP')
      const state = () => execFileSync('ps', ['-o', 'state=', '-p', String(kafka.pid)], { encoding: 'utf8' })
      await vi.waitFor(() => expect(state()).toMatch(/^T/))
    },
    resume,
    /** kill -9, then started again on the same port with the same data. */
    async crashAndStartAgain(): Promise<void> {
      process.kill(-kafka.pid, 'SIGKILL')
      await kafka.exited
      kafka = await startKafka({ ...options, port: kafka.port })
    },
  }
}
