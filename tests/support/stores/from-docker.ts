import { spawnSync } from 'node:child_process'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import {
  BoundPorts,
  type ContainerRuntimeClient,
  GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
  Wait,
  type WaitStrategy,
  waitForContainer,
} from 'testcontainers'
import { endOf } from '../../../local/processes/command.ts'
import { Failure } from '../../../local/processes/failure.mjs'
import { freePort } from '../../../local/processes/port.ts'
import { storeImages } from '../../../local/stores/docker.ts'
import { javaArgsForLoad, singleNode } from '../../../local/stores/kafka.ts'
import type { RedisOptions, StoreSource, TestKafka, TestRedis } from './store-source.ts'

const REDIS_STOP_GRACE_MS = 5_000
const END_TIMEOUT_MS = 20_000
const PAUSE = { everyMs: 100, giveUpAfterMs: 10_000 }
const LOG_LINES = 40
const CONTROLLER_PORT = 9093
const REDIS_PORT = 6379
const kafkaServes = Wait.forLogMessage('Kafka Server started')
const redisServes = Wait.forLogMessage('Ready to accept connections')

/** The label of every container of a run. Its value is the name of the run's folder. */
export const RUN_LABEL = 'plant-store.test-run'

type Labels = Record<string, string>

/** Kafka and Redis in containers, of the images that docker-compose.yml names. */
export function createDockerSource(run: string): StoreSource {
  const labels = { [RUN_LABEL]: basename(run) }
  return {
    startKafka: () => startKafka(labels),
    startRedis: (options) => startRedis(labels, options),
    endAll() {
      // An exit listener can't await the asynchronous client of the runtime, but it can wait for a process.
      const script = fileURLToPath(new URL('remove-containers.ts', import.meta.url))
      const options = { stdio: 'inherit', timeout: END_TIMEOUT_MS } as const
      const { status } = spawnSync(process.execPath, [script, run], options)
      if (status !== 0) console.error(`There may be containers left, with the label ${RUN_LABEL}=${basename(run)}`)
    },
  }
}

async function startKafka(labels: Labels): Promise<TestKafka> {
  const client = await getContainerRuntimeClient()
  const { host } = client.info.containerRuntime
  // The same port inside and outside: the broker and its clients use one advertised address.
  const port = await freePort()
  const started = await start(
    'Kafka',
    new GenericContainer(storeImages().kafka)
      .withEnvironment(kafkaEnvironment(host, port))
      .withLabels(labels)
      .withExposedPorts({ container: port, host: port })
      .withWaitStrategy(kafkaServes),
  )
  const container = client.container.getById(started.getId())
  return {
    brokers: `${host}:${port}`,
    // A busy machine may fail to freeze all its threads in time.
    pause: () => retry(() => container.pause(), PAUSE),
    resume: () => container.unpause(),
    crashAndStartAgain: () => crashAndStartAgain(client, started.getId(), kafkaServes),
    async stop() {
      await started.stop()
    },
  }
}

async function startRedis(labels: Labels, options: RedisOptions = {}): Promise<TestRedis> {
  const client = await getContainerRuntimeClient()
  const { port = await freePort(), more = {} } = options
  const settings = { save: '', appendonly: 'no', 'maxmemory-policy': 'noeviction', ...more }
  const started = await start(
    'Redis',
    new GenericContainer(storeImages().redis)
      .withCommand(Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]))
      .withLabels(labels)
      .withExposedPorts({ container: REDIS_PORT, host: port })
      .withWaitStrategy(redisServes),
  )
  return {
    url: `redis://${started.getHost()}:${port}`,
    port,
    crashAndStartAgain: () => crashAndStartAgain(client, started.getId(), redisServes),
    async stop() {
      await started.stop({ timeout: REDIS_STOP_GRACE_MS })
    },
  }
}

/** Kills a container with SIGKILL and starts it with the same volumes and ports. Resolves when it serves. */
async function crashAndStartAgain(client: ContainerRuntimeClient, id: string, serves: WaitStrategy): Promise<void> {
  const container = client.container.getById(id)
  await container.kill({ signal: 'SIGKILL' })
  await container.wait()
  // The log keeps the lines of the run that has ended. StartedAt comes too late: Redis may be ready before it.
  const { State } = await container.inspect()
  await container.start()
  await waitForContainer(client, container, serves, new BoundPorts(), new Date(State.FinishedAt))
}

/** Resolves when the container serves. If it does not start, the error shows the end of its log. */
async function start(name: string, container: GenericContainer): Promise<StartedTestContainer> {
  let logged = ''
  let log: Readable | undefined
  container.withLogConsumer((stream) => {
    log = stream.on('data', (text) => {
      logged += text
    })
  })
  try {
    return await container.start()
  } catch (error) {
    throw new Failure(`${name} did not start in Docker: ${(error as Error).message}\n${endOf(logged, LOG_LINES)}`)
  } finally {
    log?.destroy()
  }
}

/** The settings of the broker as environment variables of its image. */
function kafkaEnvironment(host: string, port: number): Record<string, string> {
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@localhost:${CONTROLLER_PORT}`,
    listeners: `PLAINTEXT://:${port},CONTROLLER://localhost:${CONTROLLER_PORT}`,
    'advertised.listeners': `PLAINTEXT://${host}:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': '/var/lib/kafka/data',
    'auto.create.topics.enable': false,
    ...singleNode,
  }
  const variables = Object.entries(settings).map(([name, value]) => [
    `KAFKA_${name.replaceAll('.', '_').toUpperCase()}`,
    String(value),
  ])
  return { ...Object.fromEntries(variables), KAFKA_HEAP_OPTS: javaArgsForLoad.join(' ') }
}
