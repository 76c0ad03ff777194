import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../../local/processes/failure.mjs'
import { ensureKafka, ensureRedis, type KafkaProgram } from '../../../local/stores/jars.ts'
import { startKafka } from '../../../local/stores/kafka.ts'
import { startRedis } from '../../../local/stores/redis.ts'
import { endProcesses } from '../test-run.ts'
import type { RedisOptions, StoreSource, TestKafka, TestRedis } from './store-source.ts'

const KAFKA_STOP_GRACE_MS = 10_000
const REDIS_STOP_GRACE_MS = 5_000
const PAUSE_TIMEOUT_MS = 10_000

/** The process that it runs as now. */
type Identified = { pid(): number }

export type ProcessSource = Pick<StoreSource, 'endAll'> & {
  startKafka(): Promise<TestKafka & Identified>
  startRedis(options?: RedisOptions): Promise<TestRedis & Identified>
}

/**
 * Kafka and Redis as processes on this machine. `javaArgs` are for the JVM of Kafka, `kafka` and `redisServer` replace
 * the programs of `npm start`.
 */
export function createProcessSource(
  run: string,
  { javaArgs, ...programs }: { javaArgs?: string[]; kafka?: KafkaProgram; redisServer?: string | undefined } = {},
): ProcessSource {
  function place(name: string) {
    const dir = mkdtempSync(join(run, `${name}-`))
    return { dir, logFile: join(dir, `${name}.log`) }
  }

  return {
    async startKafka() {
      const program = programs.kafka ?? (await ensureKafka())
      const options = { ...place('kafka'), ...program, ...(javaArgs && { javaArgs }) }
      let kafka = await startKafka(options)
      const resume = async () => {
        process.kill(-kafka.pid, 'SIGCONT')
      }
      return {
        brokers: kafka.brokers,
        pid: () => kafka.pid,
        async pause() {
          process.kill(-kafka.pid, 'SIGSTOP')
          untilStopped(kafka.pid)
        },
        resume,
        async crashAndStartAgain() {
          process.kill(-kafka.pid, 'SIGKILL')
          await kafka.exited
          kafka = await startKafka({ ...options, port: kafka.port })
        },
        async stop() {
          await resume()
          await kafka.stop({ graceMs: KAFKA_STOP_GRACE_MS })
          rmSync(options.dir, { recursive: true })
        },
      }
    },

    async startRedis(settings = {}) {
      const redisServer = programs.redisServer ?? (await ensureRedis())
      const options = { ...place('redis'), redisServer, ...settings }
      let redis = await startRedis(options)
      const { url, port } = redis
      return {
        url,
        port,
        pid: () => redis.pid,
        async crashAndStartAgain() {
          process.kill(-redis.pid, 'SIGKILL')
          await redis.exited
          redis = await startRedis({ ...options, port })
        },
        async stop() {
          await redis.stop({ graceMs: REDIS_STOP_GRACE_MS })
          rmSync(options.dir, { recursive: true, force: true })
        },
      }
    },

    endAll: () => endProcesses(run),
  }
}

/** The signal is on its way for a moment. */
function untilStopped(pid: number): void {
  const deadline = Date.now() + PAUSE_TIMEOUT_MS
  const state = () => execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' })
  while (!state().startsWith('T')) {
    if (Date.now() > deadline) throw new Failure(`Kafka (${pid}) did not stop at SIGSTOP.`)
  }
}
