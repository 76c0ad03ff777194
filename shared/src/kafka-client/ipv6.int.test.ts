import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, inject, it, onTestFinished } from 'vitest'
import { freePort } from '../../../local/processes/port.ts'
import { ensureJars } from '../../../local/stores/jars.ts'
import { answersKafka, singleNode, startNode } from '../../../local/stores/kafka.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { registerProcess } from '../../../tests/support/test-run.ts'
import { replayPlants } from '../consumer/replay-plants.ts'
import { createKafka } from '../event-log/connection.ts'
import { createTopic } from '../event-log/topic.ts'

const PARTITIONS = 2

// A machine that runs the tests in Docker may have no Java.
it.skipIf(inject('storeSource') === 'docker')('a Kafka that listens on IPv6 only and advertises that', async () => {
  const [port, controller] = [await freePort(), await freePort()]
  const { kafkaClasspath: classpath, java } = await ensureJars({ redis: false })
  const dir = temporaryFolder()
  const listener = `PLAINTEXT://[::1]:${port}`
  const kafka = await startNode({
    ...{ name: 'kafka', dir, logFile: join(dir, 'kafka.log'), classpath, java },
    onSpawn: (running) => registerProcess(inject('testRun'), running),
    settings: {
      'node.id': 1,
      'controller.quorum.voters': `1@[::1]:${controller}`,
      listeners: `${listener},CONTROLLER://[::1]:${controller}`,
      'advertised.listeners': listener,
      ...singleNode,
    },
    isReady: () => answersKafka(port, (to) => connect({ ...to, host: '::1' })),
  })
  // Before its folder is removed.
  onTestFinished(() => kafka.stop({ graceMs: 0 }).then(() => undefined))
  const nobody = await freePort()
  const brokers = [`[::1]:${nobody}`, `[::1]:${port}`]
  expect(await createTopic(createKafka(brokers, 'test', quietLog), { topic: 'plants', partitions: PARTITIONS })).toBe(
    true,
  )
  // The broker may learn of the topic later than the controller.
  const replay = () => replayPlants({ brokers, log: quietLog, onPlantCreated() {} })
  expect(await eventually(replay)).toMatchObject({ plants: 0 })
})
