import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { readGroupOffsets } from '@plant-store/shared/event-log/groups.ts'
import { PROGRAMS, type Program, type Right, rightsOf } from '@plant-store/shared/event-log/rights.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { readConfiguration } from '@plant-store/shared/event-log/topic-configuration.ts'
import { kafkajs } from '@plant-store/shared/kafka-client/kafkajs.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { root } from '../../local/places.mjs'
import { deleteTopic } from '../support/backups.ts'
import { createPlant, errorOf, idsFrom } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { newEvent } from '../support/new-events.ts'
import { openPlantStore, type PlantStore, type RunningApi, type RunningService } from '../support/plant-store.ts'
import { type Ended, runPlantctl } from '../support/plantctl.ts'
import { appendRow } from '../support/plants-table.ts'
import { untilNotReady, untilReady } from '../support/readiness.ts'
import { startSecuredKafka } from '../support/secured-kafka.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { appendTo, createTableTopic, tableTopicOf } from '../support/topic.ts'

/** 14 restores, one after the other, take 37 to 58 s on two cores. */
const MANY_RESTORES = { timeout: 600_000 }
const SOME_RESTORES = { timeout: 90_000, interval: 20 }
const RUNNING: Program[] = ['api', 'projector', 'plantctl']

let kafka: Awaited<ReturnType<typeof startSecuredKafka>>
let store: PlantStore
let api: RunningApi
let projector: RunningService
let nextId = 1n

/** The settings of a program that logs in under its own name. */
const as = (program: Program) => kafka.loginOf(program)

beforeAll(async () => {
  kafka = await startSecuredKafka({ users: PROGRAMS })
  store = await openPlantStore({ kafkaBrokers: kafka.brokers })
  for (const program of RUNNING) await kafka.grant(program, rightsOf(program, store.topic))
  ;[api, projector] = await Promise.all([store.startApi(as('api')), store.startProjector(as('projector'))])
})
afterAll(async () => {
  await store?.end()
  await kafka?.stop()
})

const create = () => createPlant(api.url, nextId++, 'Monstera')
/** A leader may apply a right that is back later than the broker from which the api learns of it. */
const untilCreated = () => eventually(async () => expect((await create()).response?.status).toBe(200))
const endOfLog = async () =>
  (await eventually(() => checkTopic(store.kafka, store))).ends.reduce<number>((sum, end) => sum + end, 0)

/** Each operation as a separate right. */
const each = (program: Program, table?: string) =>
  rightsOf(program, 'T', table).flatMap(({ operations, ...right }) =>
    operations.map((operation): [string, Right] => [
      `${operation} on ${right.resource} ${right.name}`,
      { ...right, operations: [operation] },
    ]),
  )
/** Runs a task while this right is withdrawn. Each broker applies that, and the return of the right, a moment later. */
async function without(program: Program, right: Right, task: () => Promise<unknown>, topic = store.topic) {
  const named = { ...right, name: right.name.replace('T', topic) }
  await kafka.withdraw(program, named)
  try {
    await task()
  } finally {
    await kafka.grant(program, [named])
  }
}

it('an api with exactly its rights says which one is withdrawn, and goes on when it is back', async () => {
  for (const [name, right] of each('api')) {
    await without('api', right, async () => {
      const missing = name.replace('T', store.topic).replace('tail-', 'tail-[\\w-]+')
      await untilNotReady(api, new RegExp(`Kafka refuses this user ${missing}: add the ACL`))
      if (!name.startsWith('Write')) return
      await eventually(expectNotWritten)
      const before = await endOfLog()
      await expectNotWritten()
      expect(await endOfLog()).toBe(before)
    })
    await untilReady(api)
    await untilCreated()
  }
})

/** The api responds at once that nothing was written. */
async function expectNotWritten(): Promise<void> {
  const creates = await Promise.all(Array.from({ length: 20 }, create))
  expect(creates.map(({ response }) => errorOf(response))).toEqual(Array(20).fill(50301))
}

it('a projector with exactly its rights says which one is withdrawn, and goes on when it is back', async () => {
  for (const [name, right] of each('projector')) {
    // Without Read, which includes Describe, Kafka does not even show the topic.
    const missing = name.startsWith('Read on topic')
      ? `Kafka does not show topic ${store.topic} to this user: it needs Read and DescribeConfigs`
      : `Kafka refuses this user ${name.replace('T', store.topic)}: add the ACL`
    await without('projector', right, () => untilNotReady(projector, new RegExp(missing)))
    await untilReady(projector)
  }
})

it('plantctl with exactly its rights does all that it does, and says which one is withdrawn', async () => {
  const env = { ...store.environment, ...as('plantctl') }
  for (const command of ['status', 'verify', 'rebuild', 'events', 'export'])
    expect(await runPlantctl([command], env)).toMatchObject({ code: 0 })
  for (const [name, command, expected] of [
    // Without Read, which includes Describe, Kafka does not even show the topic.
    ['Read on topic T', 'verify', refused(`Describe on topic ${store.topic}`)],
    ['Read on group T-replay-', 'verify', refused(`Read on group ${store.topic}-replay-`)],
    ['Read on group T-rebuild-', 'rebuild', refused(`Read on group ${store.topic}-rebuild-`)],
    ['Describe on group T-', 'status', showingTheRest(`Describe on group ${store.topic}-`)],
  ] as const) {
    const right = each('plantctl').find(([found]) => found === name)?.[1] as Right
    await without('plantctl', right, () =>
      eventually(async () => expect(await runPlantctl([command], env), name).toMatchObject(expected)),
    )
  }
})

it('the setup creates a topic with exactly its rights, and says which one is missing', async () => {
  const topic = `plants-${randomUUID()}`
  const env = { ...store.environment, ...as('setup'), PLANTS_TOPIC: topic }
  const setup = () => promisify(execFile)(process.execPath, [join(root, 'local/create-topic.ts')], { env })
  await expect(setup()).rejects.toMatchObject({
    stderr: `Kafka refuses this user Create on topic ${topic}: add the ACL\n`,
  })
  await kafka.grant('setup', rightsOf('setup', topic))
  await eventually(async () =>
    expect(await setup()).toMatchObject({ stdout: expect.stringContaining(`created topic ${topic}`) }),
  )
  expect(await setup()).toMatchObject({ stdout: expect.stringContaining(`found topic ${topic}`) })
})

describe('a log with the offsets of a group', () => {
  const groupId = randomUUID()
  const backUp = (folder: string) => runPlantctl(['backup', '--to', folder], { ...store.environment, ...as('backup') })

  beforeAll(async () => {
    const events = idsFrom(1_000, 60).map((id) => newEvent(id, store.partitions))
    await eventually(() => appendTo(store, events))
    const offsets = { groupId, topic: store.topic, partitions: [{ partition: 0, offset: '1' }] }
    await withAdmin(store.kafka, (admin) => admin.setOffsets(offsets))
    await kafka.grant('backup', rightsOf('backup', store.topic))
    // The offsets of a group with members are not restored.
    await projector.stop({ graceMs: 10_000 })
  })

  it('is backed up with exactly these rights', async () => {
    const folder = temporaryFolder()
    await eventually(async () => expect(await backUp(folder)).toMatchObject({ code: 0, stderr: '' }))
    const { groups } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
    expect(groups).toContainEqual({ groupId, offsets: [{ partition: 0, next: 1, metadata: '' }] })
    const refusals: Record<string, Partial<Ended>> = {
      // Without Read, which includes Describe, Kafka does not even show the topic.
      'Read on topic T': refused(`Describe on topic ${store.topic}`),
      // Kafka deletes the group some days later.
      'Delete on group T-replay-': { code: 0 },
      'Describe on group *': NOT_ALL_GROUPS,
    }
    for (const [name, right] of each('backup')) {
      const expected = refusals[name] ?? refused(name.replace('T', store.topic))
      const backUpRefused = async () => expect(await backUp(folder), name).toMatchObject(expected)
      await without('backup', right, () => eventually(backUpRefused))
    }
  })

  it('is backed up by a user that may describe the cluster, but not all groups', async () => {
    const { AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs
    const acl = {
      ...{ resourceType: AclResourceTypes.CLUSTER, resourceName: 'kafka-cluster', principal: 'User:backup', host: '*' },
      ...{ resourcePatternType: ResourcePatternTypes.LITERAL, permissionType: AclPermissionTypes.ALLOW },
      operation: AclOperationTypes.DESCRIBE,
    }
    await withAdmin(store.kafka, (admin) => admin.createAcls({ acl: [acl] }))
    const right = each('backup').find(([name]) => name === 'Describe on group *')?.[1] as Right
    const backUpPartly = async () => expect(await backUp(temporaryFolder())).toMatchObject(NOT_ALL_GROUPS)
    await without('backup', right, () => eventually(backUpPartly))
    await withAdmin(store.kafka, (admin) => admin.deleteAcls({ filters: [acl] }))
  })

  it('is restored with exactly these rights', MANY_RESTORES, async () => {
    const folder = temporaryFolder()
    await eventually(async () => expect(await backUp(folder)).toMatchObject({ code: 0 }))
    const copy = { ...store, topic: `plants-${randomUUID()}` }
    await appendRow(await createTableTopic(copy), 0)
    const env = { ...store.environment, ...as('restore'), PLANTS_TOPIC: copy.topic, PLANTS_TABLE: 'on' }
    const table = tableTopicOf(copy)
    await kafka.grant('restore', rightsOf('restore', copy.topic, table))
    const restoreAnew = async (expected: Partial<Ended>, name: string) => {
      if ((await readConfiguration(copy.kafka, copy.topic)) !== undefined) await deleteTopic(copy)
      expect(await runPlantctl(['restore', '--from', folder], env), name).toMatchObject(expected)
    }
    const refusals: Record<string, Partial<Ended>> = {
      // The first by name: its digits are before the letters of the projectors' group, whose offsets are restored, too.
      'Read on group *': {
        code: 1,
        stderr: expect.stringMatching(`offsets of group ${groupId}.*Read on group ${groupId}`),
      },
      'Write on transactional-id T-restore-': refused(
        `Write on transactional ids that begin with ${copy.topic}-restore-`,
      ),
      'Read on topic T.table': refused(`Describe on topic ${table}`),
    }
    for (const [name, right] of each('restore', 'T.table')) {
      // AlterConfigs includes the right to read settings, and that on all groups those on the groups of a replay.
      if (/^DescribeConfigs on topic T$|-replay-$/.test(name)) continue
      const expected = refusals[name] ?? refused(name.replace('T', copy.topic))
      await without('restore', right, () => vi.waitFor(() => restoreAnew(expected, name), SOME_RESTORES), copy.topic)
    }
    await vi.waitFor(() => restoreAnew({ code: 0, stderr: '' }, 'with all rights'), SOME_RESTORES)
    expect(await readGroupOffsets(copy.kafka, groupId, copy.topic)).toEqual(new Map([[0, { next: 1, metadata: '' }]]))
  })
})

const refusal = (right: string) => `Kafka refuses this user ${right}`
const refused = (right: string) => ({ code: 1, stderr: expect.stringContaining(refusal(right)) })
/** A backup leaves out the offsets of groups that cannot be seen. */
const NOT_ALL_GROUPS = { ...refused('Describe on group *'), code: 0 }
const showingTheRest = (right: string) => ({
  ...{ code: 0, stdout: expect.stringContaining(`who reads the log is not known: ${refusal(right)}`) },
})
