import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFileSync, cpSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { openExactWriter } from '@plant-store/shared/event-log/exact-writer.ts'
import { readGroupOffsets } from '@plant-store/shared/event-log/groups.ts'
import { createLatchedTopic, isLatched } from '@plant-store/shared/event-log/latch.ts'
import { checkTopic, createTopic, LOG } from '@plant-store/shared/event-log/topic.ts'
import {
  type Configuration,
  readConfiguration,
  type TopicSettings,
} from '@plant-store/shared/event-log/topic-configuration.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { contentOf, deleteTopic } from '../../../tests/support/backups.ts'
import { consumeInto, newGroup } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { openKafkaProxy } from '../../../tests/support/kafka-proxy.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { openProducer, openTransactional } from '../../../tests/support/other-producers.ts'
import { failing, printing, startPlantctl } from '../../../tests/support/plantctl.ts'
import { appendRow } from '../../../tests/support/plants-table.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { appendTo, createTableTopic, createTestTopic, type TestTopic } from '../../../tests/support/topic.ts'
import { environmentOf, plantctlOf } from '../../../tests/support/topic-plantctl.ts'
import { recordsOfPartition } from './check-backup.ts'
import { type Manifest, readManifest, writeManifest } from './manifest.ts'
import { restoredTopic } from './restored-topic.ts'
import { writeBackup } from './write-backup.ts'

const PARTITIONS = 3
const APPEARS_WITHIN_MS = 30_000
/** For the test that reads and writes most, on a busy machine. */
const MUCH = { timeout: 240_000 }
/** The API keys of the requests. */
const [OFFSET_FETCH, ALTER_CONFIGS] = [9, 33]
const MEGABYTE = 1_000_000
const ODD_NAME = Buffer.from([0xff, 0x61])

/** Everything that a topic may have: gaps at its beginning, middle and end, overlapping transactions, odd records. */
async function fillOddly({ kafka, topic }: TestTopic): Promise<void> {
  const [one, other] = [await openTransactional(kafka), await openTransactional(kafka)]
  const plain = await openProducer(kafka)
  const at = (partition: number, ...ids: bigint[]) => ({
    topic,
    messages: ids.map((id) => ({ ...newEvent(id, PARTITIONS), partition })),
  })
  const abort = async (partition: number, ...ids: bigint[]) => {
    const transaction = await one.transaction()
    await transaction.send(at(partition, ...ids))
    await transaction.abort()
  }
  const ids = Array.from({ length: 400 }, (_, n) => BigInt(n))
  const idsOf = (partition: number) => ids.filter((id) => newEvent(id, PARTITIONS).partition === partition)
  const [first, second] = [idsOf(0), idsOf(1)]

  await abort(0, 1n, 2n, 3n)
  await plain.send(at(0, ...first.slice(0, 50)))
  const [a, b] = [await one.transaction(), await other.transaction()]
  await a.send(at(0, ...first.slice(50, 60)))
  await b.send(at(0, ...first.slice(55, 70)))
  await plain.send(at(0, ...first.slice(70)))
  await b.abort()
  await a.commit()
  await plain.send(at(1, ...second, ...second.slice(0, 5)))
  await plain.send({
    topic,
    messages: [
      { partition: 1, key: null, value: null },
      { partition: 1, key: '', value: '', timestamp: '1556668800000' },
      { partition: 1, key: Buffer.from([0xc3]), value: Buffer.alloc(MEGABYTE, 7) },
      { partition: 1, key: 'x', value: 'y', headers: { a: ['1', '2'], b: Buffer.from([0xff]) } },
    ],
  })
  // Together with the large one, more than Kafka accepts in a batch.
  await plain.send({ topic, messages: [{ partition: 1, key: 'x', value: Buffer.alloc(MEGABYTE / 2) }] })
  const { topicId, ends } = await checkTopic(kafka, { topic, partitions: PARTITIONS })
  const exact = await openExactWriter(kafka, topic, topicId)
  const odd = {
    ...{ key: Buffer.from('7'), value: null, timestamp: '-1' },
    headers: [
      [ODD_NAME, null],
      [Buffer.from('z'), Buffer.from('1')],
      [Buffer.from('a'), Buffer.from('2')],
      [Buffer.from('z'), null],
    ] as [Buffer, Buffer | null][],
  }
  await exact.write(1 as Partition, [odd], ends[1] as Offset)
  await exact.close()
  await abort(0, 5n)
}

it('a restored log has the same bytes, offsets and gaps, settings and group offsets', MUCH, async () => {
  const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const plantctl = plantctlOf(topic)
  await fillOddly(topic)
  const groupId = randomUUID()
  await withAdmin(topic.kafka, async (admin) => {
    await admin.setOffsets({ groupId, topic: topic.topic, partitions: [{ partition: 0, offset: '17' }] })
  })
  const [first, second] = [temporaryFolder(), temporaryFolder()]
  expect(await plantctl('backup', '--to', first)).toMatchObject(printing(/1 consumer group/))
  const exported = await plantctl('export')
  const checked = await plantctl('backup', 'check', first, '--json')
  expect(checked.code).toBe(0)
  expect(JSON.parse(checked.stdout).export).toEqual(
    JSON.parse(exported.stdout.trimEnd().split('\n').at(-1) ?? '').export,
  )

  await deleteTopic(topic)
  expect(await plantctl('restore', '--from', first)).toMatchObject({ code: 0 })
  expect(await plantctl('backup', '--to', second)).toMatchObject({ code: 0 })
  expect(contentOf(second)).toEqual(contentOf(first))
  expect(contentOf(first).lines.join('')).toContain(ODD_NAME.toString('base64'))
  expect(contentOf(first).groups).toEqual([{ groupId, offsets: [{ partition: 0, next: 17, metadata: '' }] }])
  expect(await readGroupOffsets(topic.kafka, groupId, topic.topic)).toEqual(new Map([[0, { next: 17, metadata: '' }]]))
  expect((await plantctl('export')).stdout).toBe(exported.stdout)
})

/** A topic with some plants, and a backup of it. */
async function backedUp(partitions = PARTITIONS, plants = 200) {
  const topic = await createTestTopic(inject('kafkaBrokers'), partitions)
  const append = createAppender(topic.kafka, topic.topic)
  onTestFinished(() => append.close())
  const events = Array.from({ length: plants }, (_, n) => newEvent(BigInt(n), partitions))
  await append.append(events)
  // A path as people write it.
  const folder = `${temporaryFolder()}/of/./plants`
  const plantctl = plantctlOf(topic)
  const backUp = () => plantctl('backup', '--to', folder)
  const restore = (...options: string[]) => plantctl('restore', '--from', folder, ...options)
  expect(await backUp()).toMatchObject({ code: 0 })
  return { topic, plantctl, folder, append: append.append, backUp, restore }
}

it('a later backup adds what is new, in few files', async () => {
  const { plantctl, folder, append, backUp } = await backedUp(1, 1)
  for (let n = 1n; n <= 16n; n++) {
    await append([newEvent(n, 1)])
    expect((await backUp()).stdout).toContain(`${n + 1n} records, 1 of them new`)
  }
  expect(contentOf(folder).lines[0]?.split('\n')).toHaveLength(18)
  expect(readdirSync(folder).length).toBeLessThanOrEqual(7)
  expect(await plantctl('backup', 'check', folder)).toMatchObject(printing(/17 plants/))
})

it('a backup that follows adds what comes, until it is interrupted', async () => {
  const { topic, folder, append } = await backedUp(1, 1)
  const follow = ['backup', '--to', folder, '--follow', '--every', '1s', '--json']
  const following = startPlantctl(follow, environmentOf(topic))
  const backups = () => following.stdout().trimEnd().split('\n')
  await vi.waitFor(() => expect(backups()).not.toEqual(['']), APPEARS_WITHIN_MS)
  await append([newEvent(1n, 1)])
  const last = () => JSON.parse(backups().at(-1) as string)
  await vi.waitFor(() => expect(last()).toMatchObject({ records: 2, ends: [2] }), APPEARS_WITHIN_MS)
  following.kill('SIGTERM')
  expect(await following.ended).toMatchObject({ code: 130 })
  expect(contentOf(folder).ends).toEqual([2])
  for (const name of ['', ...readdirSync(folder)]) expect(statSync(join(folder, name)).mode & 0o77).toBe(0)
})

it('a backup repeats a request that fails, as while a broker starts', async () => {
  const [{ topic, folder }, proxy] = [await backedUp(1, 1), await openKafkaProxy()]
  const suffered = proxy.spoilNext(OFFSET_FETCH, 'loses the connection')
  const { signal } = new AbortController()
  const progress = { onStart() {}, onRead() {} }
  await writeBackup({ ...topic, kafka: proxy.kafka, log: quietLog }, folder, { ...progress, signal })
  await suffered
})

it('a restore gives the topic its settings although the response is lost', async () => {
  const [{ topic, folder }, proxy] = [await backedUp(1, 1), await openKafkaProxy()]
  const log = { ...topic, topic: `plants-${randomUUID()}`, log: quietLog }
  const manifest = (await readManifest(folder)) as Manifest
  const restored = (kafka = topic.kafka) => restoredTopic({ ...log, kafka }, manifest, new AbortController().signal)
  // The client behind the proxy would give up after 1 s.
  await restored().open()
  const suffered = proxy.spoilNext(ALTER_CONFIGS, 'loses the connection')
  await restored(proxy.kafka).release()
  await suffered
  await eventually(async () =>
    expect(isLatched((await readConfiguration(topic.kafka, log.topic)) as Configuration)).toBe(false),
  )
})

/** A backup of a topic with other settings, and without those that are undefined. */
async function backedUpWith(changes: Record<string, string | undefined>, plants = 1) {
  const backup = await backedUp(1, plants)
  const manifest = (await readManifest(backup.folder)) as Manifest
  const configuration = { ...manifest.configuration, ...changes } as Manifest['configuration']
  await writeManifest(backup.folder, { ...manifest, configuration })
  return backup
}

it.each([
  ['keeps its records where the brokers would not', { 'cleanup.policy': undefined, 'retention.ms': undefined }, 1],
  ['accepts only small batches', { 'max.message.bytes': '100000' }, 2_000],
])('a topic is restored that %s', async (_what, changes, plants) => {
  const { topic, restore } = await backedUpWith(changes, plants)
  const restored = randomUUID()
  expect(await restore('--topic', restored)).toMatchObject({ code: 0 })
  // The broker applies it a moment after the controller.
  await eventually(async () =>
    expect(Object.fromEntries((await readConfiguration(topic.kafka, restored)) ?? [])).toMatchObject({
      ...changes,
      ...LOG.required,
    }),
  )
})

it('a restore names the settings of the topic when Kafka refuses one', async () => {
  const { restore } = await backedUpWith({ 'message.format.version': '2.8' })
  const refused = failing(/retention\.ms.*, message\.format\.version.*from "configuration" in manifest\.json/)
  expect(await restore('--topic', randomUUID())).toMatchObject(refused)
})

it.each([
  ['is missing', (file: string) => rmSync(file), /is missing/],
  ['is damaged', (file: string) => appendFileSync(file, 'x'), /another SHA-256/],
])('a backup of which a file %s is found, and not restored', async (_, damage, message) => {
  const { plantctl, folder, restore } = await backedUp()
  const file = readdirSync(folder).find((name) => name.startsWith('0001')) as string
  damage(join(folder, file))
  const checked = await plantctl('backup', 'check', folder)
  expect(checked).toMatchObject(printing(message, 3))
  expect(checked.stdout).toContain(file)
  expect(await restore('--topic', randomUUID())).toMatchObject(failing(message))
})

it('a backup is not continued with another log, nor by two programs, nor over a damaged manifest', async () => {
  const { topic, folder, backUp } = await backedUp()
  const before = contentOf(folder)
  const other = await backedUp()
  expect(await other.plantctl('backup', '--to', folder)).toMatchObject(failing(/is another topic/))
  const lock = join(folder, 'lock')
  for (const [holder, refusal] of [
    [`elsewhere 1 ${randomUUID()}`, /process 1 on elsewhere/],
    ['', /another backup writes to \S+: wait/],
    ['of another program', /has a file "lock" that no backup wrote/],
  ] as const) {
    writeFileSync(lock, holder)
    expect(await backUp()).toMatchObject(failing(refusal))
  }
  // However old it is.
  utimesSync(lock, 0, 0)
  expect(await backUp()).toMatchObject(failing(/that no backup wrote/))
  // It was left by a killed run, before the clock was set back.
  writeFileSync(lock, '')
  utimesSync(lock, new Date('2100-01-01'), new Date('2100-01-01'))
  await deleteTopic(topic)
  await createTopic(topic.kafka, topic)
  expect(await backUp()).toMatchObject(failing(/it was recreated/))
  expect(contentOf(folder)).toEqual(before)
  const [manifest, files] = [join(folder, 'manifest.json'), readdirSync(folder)]
  rmSync(manifest)
  expect(await backUp()).toMatchObject(failing(/has lost its manifest\.json/))
  writeFileSync(manifest, '{}')
  expect(readdirSync(folder)).toEqual(files)
  expect(await backUp()).toMatchObject(failing(/manifest\.json is damaged/))
})

it('a check or a restore that a later backup has overtaken does not report damage', async () => {
  const { plantctl, folder, append, backUp } = await backedUp(1, 1)
  const checked = join(temporaryFolder(), 'checked')
  cpSync(folder, checked, { recursive: true })
  const [manifest, [file = '']] = [(await readManifest(folder)) as Manifest, readdirSync(folder)]
  await append([newEvent(1n, 1)])
  expect(await backUp()).toMatchObject({ code: 0 })
  const read = Array.fromAsync(recordsOfPartition(folder, manifest, 0 as Partition))
  await expect(read).rejects.toThrow(/a later backup .* run this again/)

  // A check opens it, and waits for its end.
  rmSync(join(checked, file))
  execFileSync('mkfifo', [join(checked, file)])
  const checking = plantctl('backup', 'check', checked)
  const opened = await open(join(checked, file), 'w')
  cpSync(folder, checked, { recursive: true })
  await opened.close()
  expect(await checking).toMatchObject(printing(/2 plants/))
})

it('a backup without room says so, and leaves the earlier one, and the files of others, as they were', async () => {
  const { topic, plantctl, folder, append } = await backedUp(1)
  writeFileSync(join(folder, 'thesis.part'), 'of another program')
  const [content, files] = [contentOf(folder), readdirSync(folder)]
  // Killed runs leave such files, which may be why there is no room.
  for (const left of [`0000-000000000000200.${randomUUID()}.part`, '0000-000000000000200-000000000000200.jsonl.gz'])
    writeFileSync(join(folder, left), '')
  await append(Array.from({ length: 4_000 }, (_, n) => newEvent(BigInt(1_000 + n), 1)))
  for (const fileBlocks of [64, 0]) {
    const { ended } = startPlantctl(['backup', '--to', folder], environmentOf(topic), { fileBlocks })
    const tooLarge = /^\S+: file too large\. Correct it and run this again: a backup that was complete still is\n$/
    expect(await ended).toMatchObject(failing(tooLarge))
    expect([contentOf(folder), readdirSync(folder)]).toEqual([content, files])
  }
  expect(await plantctl('backup', 'check', folder)).toMatchObject({ code: 0 })
})

it('a backup ends where no folder can be created', async () => {
  const folder = '/proc/backups/plants'
  const refused = failing(/^\/proc\/backups\/plants: no such file or directory\. Correct it/)
  expect(await plantctlOf({ topic: 'plants', partitions: 1 })('backup', '--to', folder)).toMatchObject(refused)
})

it('a topic that exists is not restored, nor one that another program or number of partitions has', async () => {
  const { topic, restore } = await backedUp()
  const existing = failing(/stop the services and delete it first.* name a new one by --topic/)
  expect(await restore()).toMatchObject(existing)
  expect(await restore('--dry-run')).toMatchObject(existing)
  const { partitions, kafka } = topic
  const [latched, other] = [partitions, 5].map((count) => ({ topic: `plants-${randomUUID()}`, partitions: count }))
  for (const one of [latched, other] as TopicSettings[]) await createLatchedTopic(kafka, one, new Map(), 0)
  await eventually(() => appendTo({ ...topic, ...latched }, [newEvent(1_000n, partitions)]))
  expect(await restore('--topic', String(latched?.topic))).toMatchObject(failing(/differs from the backup at offset 0/))
  await expect(checkTopic(kafka, latched as TopicSettings)).rejects.toThrow('is being restored and may lack records')
  for (const options of [['--partitions', '4'], [], ['--dry-run']])
    expect(await restore('--topic', String(other?.topic), ...options)).toMatchObject(
      failing(/has 5 partitions instead of \d: delete it/),
    )
})

it('a restore waits for the consumers of a group to end, and then commits its offsets', async () => {
  const { topic, folder, backUp } = await backedUp()
  const groupId = newGroup()
  const consumer = await consumeInto(topic.topic, { groupId, commitEveryMs: 10 })
  const committed = (name: string) => readGroupOffsets(topic.kafka, groupId, name)
  // All of its 200 plants: a commit that follows the backup would not be in it.
  const processed = async () => [...(await committed(topic.topic)).values()].reduce((sum, { next }) => sum + next, 0)
  await eventually(async () => expect(await processed()).toBe(200))
  expect(await backUp()).toMatchObject({ code: 0 })
  const copy = `plants-${randomUUID()}`
  const restoring = startPlantctl(['restore', '--from', folder, '--topic', copy], environmentOf(topic))
  await vi.waitFor(() => expect(restoring.stderr()).toContain('the group has members: waiting'), APPEARS_WITHIN_MS)
  expect((await committed(copy)).size).toBe(0)
  await consumer.stop()
  expect(await restoring.ended).toMatchObject({ code: 0 })
  expect(await committed(copy)).toEqual(await committed(topic.topic))
})

it('a backup that is older than the read model is restored into another topic only', async () => {
  const { topic, plantctl, append, restore } = await backedUp(1)
  await append([newEvent(1_000n, 1)])
  expect(await plantctl('rebuild', '--from-empty')).toMatchObject({ code: 0 })
  await deleteTopic(topic)
  expect(await restore()).toMatchObject(failing(/the read model has offset 200 of partition 0/))
  const moved = await restore('--topic', topic.topic, '--partitions', '2')
  expect(moved).toMatchObject(failing(/the backup is of this topic, name another one/, 2))
  await expect(readConfiguration(topic.kafka, topic.topic)).resolves.toBeUndefined()
  expect(await restore('--topic', 'x', '--partitions', '1')).toMatchObject({ code: 2 })
  const other = { topic: `plants-${randomUUID()}`, partitions: 2 }
  expect(await restore('--topic', other.topic, '--partitions', '2')).toMatchObject({ code: 0 })
  expect((await plantctlOf(other)('export')).stdout).toContain('"plants":200')
})

it('a backup that is older than a table is restored for a drill without it', async () => {
  const { topic, folder, restore } = await backedUp(1, 1)
  const table = await createTableTopic(topic)
  await appendRow(table, 1)
  const drill = ['restore', '--from', folder, '--topic', `plants-${randomUUID()}`, '--groups', 'none']
  const withTable = (name: string) => startPlantctl(drill, { ...environmentOf(topic), PLANTS_TABLE: name }).ended
  expect(await withTable(table.topic)).toMatchObject(failing(/set PLANTS_TABLE=off/))
  expect(await withTable('off')).toMatchObject({ code: 0 })
  expect(await restore()).toMatchObject(failing(/\.table exists: set PLANTS_TABLE=on/, 2))
})

it.each([1, 7])('a log of 3 partitions has the same plants in %d', async (partitions) => {
  const { plantctl, append, topic, backUp, restore } = await backedUp()
  await append([newEvent(5n, PARTITIONS), newEvent(1_001n, PARTITIONS)])
  await backUp()
  const moved = { topic: `plants-${randomUUID()}`, partitions }
  const options = ['--topic', moved.topic, '--partitions', String(partitions)]
  expect(await restore(...options)).toMatchObject({ code: 0 })
  await eventually(() => checkTopic(topic.kafka, moved))
  const plantsOf = (exported: string) => exported.match(/^\{"id".*(?=,"position")/gm)?.sort()
  const [before, after] = [await plantctl('export'), await plantctlOf(moved)('export')]
  expect(plantsOf(before.stdout)).toHaveLength(201)
  expect(plantsOf(after.stdout)).toEqual(plantsOf(before.stdout))
  expect(await restore(...options)).toMatchObject(failing(/exists/))
})

it('a dry run finds a record that no single partition can have', async () => {
  const { append, backUp, restore } = await backedUp()
  const event = newEvent(1_000n, PARTITIONS)
  await append([{ ...event, partition: ((event.partition + 1) % PARTITIONS) as Partition }])
  expect(await backUp()).toMatchObject({ code: 0 })
  const into = ['--topic', `plants-${randomUUID()}`, '--dry-run', '--partitions']
  expect(await restore(...into, '1')).toMatchObject(failing(/Choose more partitions/))
  expect(await restore(...into, '2')).toMatchObject(printing(/Would restore 201/))
})
