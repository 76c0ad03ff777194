import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PROGRAMS, type Program, type Right, rightsOf } from '@plant-store/shared/event-log/rights.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { createPlant, errorOf, readPlant } from '../support/client.ts'
import { openPlantStore, type PlantStore, type RunningApi, type RunningService } from '../support/plant-store.ts'
import { type Ended, startPlantctl } from '../support/plantctl.ts'
import { untilNotReady, untilReady } from '../support/readiness.ts'
import { PASSWORD, startSecuredKafka } from '../support/secured-kafka.ts'

const SOON = { timeout: 10_000, interval: 20 }
const RUNNING: Program[] = ['api', 'projector', 'plantctl']

let kafka: Awaited<ReturnType<typeof startSecuredKafka>>
let store: PlantStore
let api: RunningApi
let projector: RunningService
let nextId = 1n

/** The settings of a program that logs in under its own name. */
const as = (program: Program) => ({
  KAFKA_BROKERS: kafka.sasl,
  KAFKA_SECURITY_PROTOCOL: 'SASL_PLAINTEXT',
  KAFKA_SASL_MECHANISM: 'PLAIN',
  KAFKA_SASL_USERNAME: program,
  KAFKA_SASL_PASSWORD: PASSWORD,
})

beforeAll(async () => {
  kafka = await startSecuredKafka({ users: PROGRAMS })
  store = await openPlantStore({ kafkaBrokers: kafka.brokers, redisUrl: inject('redisUrl') })
  for (const program of RUNNING) await kafka.grant(program, rightsOf(program, store.topic))
  ;[api, projector] = await Promise.all([store.startApi(as('api')), store.startProjector(as('projector'))])
})
afterAll(async () => {
  await store?.end()
  await kafka?.stop()
})

const create = () => createPlant(api.url, nextId++, 'Monstera')
const endOfLog = async () => (await checkTopic(store.kafka, store)).ends.reduce<number>((sum, end) => sum + end, 0)

/** Each operation as a separate right. */
const each = (program: Program) =>
  rightsOf(program, 'T').flatMap(({ operations, ...right }) =>
    operations.map((operation): [string, Right] => [
      `${operation} on ${right.resource} ${right.name}`,
      { ...right, operations: [operation] },
    ]),
  )
const ofStore = (right: Right): Right => ({ ...right, name: right.name.replace('T', store.topic) })

async function without(program: Program, right: Right, task: () => Promise<void>): Promise<void> {
  await kafka.withdraw(program, ofStore(right))
  try {
    await task()
  } finally {
    await kafka.grant(program, [ofStore(right)])
  }
}

describe('with exactly its rights', () => {
  it('the services create and read', async () => {
    const { id, response } = await create()
    expect(response?.status).toBe(200)
    expect((await readPlant(api.url, id))?.status).toBe(200)
  })

  it('an api says which one is withdrawn, and goes on when it is back', async () => {
    for (const [name, right] of each('api')) {
      await without('api', right, async () => {
        const missing = name.replace('T', store.topic).replace('tail-', 'tail-[\\w-]+')
        await untilNotReady(api, new RegExp(`Kafka refuses this user ${missing}: add the ACL`), SOON)
      })
      await untilReady(api)
      expect((await create()).response?.status).toBe(200)
    }
  })

  it('an api without Write responds at once that nothing was written', async () => {
    const write: Right = { resource: 'topic', name: 'T', pattern: 'literal', operations: ['Write'] }
    await without('api', write, async () => {
      await untilNotReady(api, /refuses this user Write on topic/, SOON)
      const before = await endOfLog()
      const creates = await Promise.all(Array.from({ length: 20 }, create))
      expect(creates.map(({ response }) => errorOf(response))).toEqual(Array(20).fill(50301))
      expect(await endOfLog()).toBe(before)
    })
    await untilReady(api)
    expect((await create()).response?.status).toBe(200)
  })

  it('a projector says which one is withdrawn, and goes on when it is back', async () => {
    for (const [name, right] of each('projector')) {
      // Without Read, which includes Describe, Kafka does not even show the topic.
      const missing = name.startsWith('Read on topic')
        ? `Kafka does not show topic ${store.topic} to this user: it needs Read and DescribeConfigs`
        : `Kafka refuses this user ${name.replace('T', store.topic)}: add the ACL`
      await without('projector', right, async () => {
        await untilNotReady(projector, new RegExp(missing), SOON)
      })
      await untilReady(projector)
    }
  })

  it('plantctl does all that it does', async () => {
    for (const args of [['status'], ['verify'], ['rebuild'], ['events'], ['export']]) {
      expect(await plantctl(...args)).toMatchObject({ code: 0 })
    }
  })

  it('plantctl says that Read on the topic is withdrawn', async () => {
    const read: Right = { resource: 'topic', name: 'T', pattern: 'literal', operations: ['Read'] }
    await without('plantctl', read, async () => {
      const refusal = `Kafka refuses this user Describe on topic ${store.topic}: add the ACL`
      expect(await plantctl('verify')).toMatchObject({ code: 1, stderr: expect.stringContaining(refusal) })
    })
  })

  it('plantctl status says that Describe on groups is withdrawn, and shows the rest', async () => {
    await without(
      'plantctl',
      each('plantctl').find(([found]) => found === 'Describe on group T-')?.[1] as Right,
      async () => {
        const refusal = `Kafka refuses this user Describe on group ${store.topic}-`
        const { code, stdout } = await plantctl('status')
        expect([code, stdout]).toEqual([0, expect.stringContaining(`who reads the log is not known: ${refusal}`)])
      },
    )
  })

  it.each<[string, string[]]>([
    ['DescribeConfigs on topic T', ['verify']],
    ['Read on group T-replay-', ['verify']],
    ['Read on group T-rebuild-', ['rebuild']],
  ])('plantctl says that %s is withdrawn', async (name, args) => {
    const right = each('plantctl').find(([found]) => found === name)?.[1] as Right
    await without('plantctl', right, async () => {
      const { code, stderr } = await plantctl(...args)
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`Kafka refuses this user ${name.replace('T', store.topic)}`),
      ])
    })
  })
})

it('the setup creates a topic with exactly its rights, and says which one is missing', async () => {
  const topic = `plants-${randomUUID()}`
  const env = { ...store.environment, ...as('setup'), PLANTS_TOPIC: topic }
  const setup = () => promisify(execFile)(process.execPath, [join(root, 'local/create-topic.ts')], { env })
  await expect(setup()).rejects.toMatchObject({
    stderr: `Kafka refuses this user Create on topic ${topic}: add the ACL\n`,
  })
  await kafka.grant('setup', rightsOf('setup', topic))
  expect(await setup()).toMatchObject({ stdout: expect.stringContaining(`created topic ${topic}`) })
  expect(await setup()).toMatchObject({ stdout: expect.stringContaining(`found topic ${topic}`) })
})

function plantctl(...args: string[]): Promise<Ended> {
  return startPlantctl(args, { ...store.environment, ...as('plantctl') }).ended
}
