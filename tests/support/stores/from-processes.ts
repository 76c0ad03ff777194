import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../../local/processes/failure.mjs'
import { ensureKafka, ensureRedis, type KafkaProgram } from '../../../local/stores/jars.ts'
import { startKafka } from '../../../local/stores/kafka.ts'
import { startRedis } from '../../../local/stores/redis.ts'

const KAFKA_STOP_GRACE_MS = 10_000
const REDIS_STOP_GRACE_MS = 5_000
const PAUSE_TIMEOUT_MS = 10_000

/** A server of a test, reachable from this machine. */
type TestServer = {
  /** kill -9, then started again on the same port with its files. Resolves when it serves. */
  crashAndStartAgain(): Promise<void>
  /** Ends it and removes what it stored, also while it is paused. */
  stop(): Promise<void>
}

/** A Kafka of one node, without topics. */
export type TestKafka = TestServer & {
  /** host:port */
  brokers: string
  /** It keeps its connections and does not respond, like a broker that hangs. Resolves when it has stopped. */
  pause(): Promise<void>
  resume(): Promise<void>
}

/** An empty Redis without persistence that does not evict. */
export type TestRedis = TestServer & { url: string; port: number }

/** Another port than a free one, and further settings, by their names in redis.conf. */
export type RedisOptions = { port?: number; more?: Record<string, string> }

/** The source of Kafka and Redis for a run of the tests. All that it gives serves already. */
export type StoreSource = {
  startKafka(): Promise<TestKafka>
  startRedis(options?: RedisOptions): Promise<TestRedis>
}

/**
 * Kafka and Redis as processes on this machine. `javaArgs` are for the JVM of Kafka, `kafka` and `redisServer` replace
 * the programs of `npm start`. `pid` is the process that a store runs as now.
 */
export function createProcessSource(
  run: string,
  { javaArgs, ...programs }: { javaArgs?: string[]; kafka?: KafkaProgram; redisServer?: string | undefined } = {},
) {
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

    async startRedis(settings: RedisOptions = {}) {
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
  } satisfies StoreSource
}

/** The signal is on its way for a moment. */
function untilStopped(pid: number): void {
  const deadline = Date.now() + PAUSE_TIMEOUT_MS
  const state = () => execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' })
  while (!state().startsWith('T')) {
    if (Date.now() > deadline) throw new Failure(`Kafka (${pid}) did not stop at SIGSTOP.`)
  }
}
