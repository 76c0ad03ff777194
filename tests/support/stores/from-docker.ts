import { retry } from '@plant-store/shared/runtime/retry.ts'
import {
  BoundPorts,
  GenericContainer,
  getContainerRuntimeClient,
  getReaper,
  type StartedTestContainer,
  Wait,
  type WaitStrategy,
  waitForContainer,
} from 'testcontainers'
import { freePort } from '../../../local/processes/port.ts'
import { storeImages } from '../../../local/stores/docker.ts'
import { javaArgsForLoad, singleNode } from '../../../local/stores/kafka.ts'
import type { StoreSource } from './from-processes.ts'

const REDIS_STOP_GRACE_MS = 5_000
const PAUSE = { everyMs: 100, giveUpAfterMs: 10_000 }
const CONTROLLER_PORT = 9093
const REDIS_PORT = 6379
const kafkaServes = Wait.forLogMessage('Kafka Server started')
const redisServes = Wait.forLogMessage('Ready to accept connections')

/** Kafka and Redis in containers, of the images that docker-compose.yml names. */
export const dockerSource: StoreSource = {
  async startKafka() {
    const { container, info } = await getContainerRuntimeClient()
    const { host } = info.containerRuntime
    // The same port inside and outside: the broker and its clients use one advertised address.
    const port = await freePort()
    const started = await new GenericContainer(storeImages().kafka)
      .withEnvironment(kafkaEnvironment(host, port))
      .withExposedPorts({ container: port, host: port })
      .withWaitStrategy(kafkaServes)
      .start()
    const broker = container.getById(started.getId())
    return {
      brokers: `${host}:${port}`,
      // A busy machine may fail to freeze all its threads in time.
      pause: () => retry(() => broker.pause(), PAUSE),
      resume: () => broker.unpause(),
      crashAndStartAgain: () => crashAndStartAgain(started, kafkaServes),
      stop: async () => void (await started.stop()),
    }
  },

  async startRedis({ port: given, more = {} } = {}) {
    const port = given ?? (await freePort())
    const settings = { save: '', appendonly: 'no', 'maxmemory-policy': 'noeviction', ...more }
    const started = await new GenericContainer(storeImages().redis)
      .withCommand(Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]))
      .withExposedPorts({ container: REDIS_PORT, host: port })
      .withWaitStrategy(redisServes)
      .start()
    return {
      url: `redis://${started.getHost()}:${port}`,
      port,
      crashAndStartAgain: () => crashAndStartAgain(started, redisServes),
      stop: async () => void (await started.stop({ timeout: REDIS_STOP_GRACE_MS })),
    }
  },
}

/** Has the reaper of testcontainers remove what a compose project leaves when the run is interrupted. */
export async function reapProject(project: string): Promise<void> {
  const reaper = await getReaper(await getContainerRuntimeClient())
  reaper.addComposeProject(project)
}

/** Kills a container with SIGKILL and starts it with the same volumes and ports. Resolves when it serves. */
async function crashAndStartAgain(started: StartedTestContainer, serves: WaitStrategy): Promise<void> {
  const client = await getContainerRuntimeClient()
  const container = client.container.getById(started.getId())
  await container.kill({ signal: 'SIGKILL' })
  await container.wait()
  // The log keeps the lines of the run that has ended. StartedAt comes too late: Redis may be ready before it.
  const { State } = await container.inspect()
  await container.start()
  await waitForContainer(client, container, serves, new BoundPorts(), new Date(State.FinishedAt))
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
