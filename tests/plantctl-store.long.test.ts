import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { eventually } from './support/eventually.ts'
import { newEvent } from './support/new-events.ts'
import { openPlantStore, openRedis, type PlantStore } from './support/plant-store.ts'
import { failing, printing, runPlantctl, startPlantctl } from './support/plantctl.ts'
import { appendTo } from './support/topic.ts'
import { expectReadModelToEqual, readTruth, type Truth } from './support/truth.ts'

const PLANTS = 300
/** Kind, event id, offset and a name of 7 characters; Redis keeps small hashes densely. */
const ENTRY_BYTES_MIN = 30

// One store for all cases: each restores it.
let store: PlantStore
let truth: Truth
let writtenFrom: string

const event = (id: bigint) => newEvent(id, store.partitions)
const partitionOfId = (id: bigint) => partitionOf(Buffer.from(String(id)), store.partitions)
const append = (...records: NewRecord[]) => appendTo(store, records)

beforeAll(async () => {
  store = await openPlantStore()
  await append(...Array.from({ length: PLANTS }, (_, n) => event(BigInt(n))))
  const again = event(1_000n)
  const foreign = { ...event(1_001n), headers: { ce_type: Buffer.from('\x1b[31mOther') } }
  const newer = event(1_002n)
  newer.headers['content-type'] = Buffer.from('application/json; version=9')
  const unreadable = { ...event(1_003n), value: Buffer.from('not json') }
  writtenFrom = new Date().toISOString()
  await append(event(7n), again, again, foreign, newer, unreadable)
  await Promise.all([store.startApi(), store.startProjector()])
  return store.end
})
beforeEach(async () => {
  truth ??= await readTruth(store)
  await expectReadModelToEqual(truth, store)
})

const plantctl = (...args: string[]) => runPlantctl(args, store.environment)

/** The exit code, and the lines of a command that prints JSON. */
async function json(...args: string[]) {
  const { code, stdout } = await plantctl(...args, '--json')
  return { code, objects: linesOf(stdout) }
}

const linesOf = (stdout: string) => (stdout.match(/.+\n/g) ?? []).map((line) => JSON.parse(line))
const positionOf = (id: bigint): string => `${partitionOfId(id)}-${truth.winner(id)?.offset}`

it('status reports no problems, the totals and the readers, and repeats that until it is interrupted', async () => {
  const { code, objects } = await json('status')
  const [found] = objects
  expect({ code, well: found.well }).toEqual({ code: 0, well: true })
  expect(found).toMatchObject({
    totals: { offsets: PLANTS + 6, lag: 0, plants: PLANTS + 3, voids: 1, parked: 3 },
    projectors: [{ clientId: 'plant-store-projector', partitions: [0, 1, 2, 3, 4, 5] }],
    apis: [{ clientId: 'plant-store-api', partitions: [0, 1, 2, 3, 4, 5] }],
    partitions: truth.states.map(({ checkpoint, plants }, partition) => ({
      ...{ partition, checkpoint: checkpoint.offset, plants: plants.size, lag: 0 },
    })),
  })
  expect(found.totals.bytes).toBeGreaterThan(PLANTS * ENTRY_BYTES_MIN)

  const watch = startPlantctl(['status', '--watch', '--json'], store.environment)
  await eventually(() => expect(linesOf(watch.stdout()).length).toBeGreaterThan(1))
  watch.kill('SIGINT')
  const ended = await watch.ended
  expect(ended.code).toBe(130)
  for (const { well } of linesOf(ended.stdout)) expect(well).toBe(true)
})

it('events prints the selected records, each with its ruling, and ends quietly when the pipe is closed', async () => {
  expect((await json('events', '--id', '7')).objects).toMatchObject([
    { position: positionOf(7n), is: 'created', id: '7', plant: { name: 'plant 7' } },
    { is: 'void', of: positionOf(7n), id: '7' },
  ])
  expect((await json('events', '--id', '1000')).objects).toMatchObject([
    { is: 'created' },
    { is: 'repeated', of: positionOf(1_000n) },
  ])
  expect(await plantctl('events', '--id=-7')).toEqual({ code: 0, stdout: '', stderr: 'No records found.\n' })
  const { stdout } = await plantctl('events', '--from', writtenFrom)
  expect(stdout.split('\n')).toHaveLength(7)
  expect(stdout).toContain('parked: its ce_type header is not PlantCreated  key "1001"  ce_type "\\u001b[31mOther"')
  expect(stdout).toMatch(/created {3}1002 {2}event .* {2}parked: its content-type header names a version/)
  expect(stdout).not.toContain('\x1b')

  const positions = async (...args: string[]) => (await json('events', ...args)).objects.map(({ position }) => position)
  expect(await positions('--from', '3-1', '--to', '3-3')).toEqual(['3-1', '3-2', '3-3'])
  expect(await positions('--partition', '2', '--limit', '2')).toEqual(['2-0', '2-1'])
  const [{ raw }] = (await json('events', '--id', '1002', '--raw')).objects
  expect(Buffer.from(raw.headers['content-type'], 'base64').toString()).toBe('application/json; version=9')
  expect(Buffer.from(raw.key, 'base64').toString()).toBe('1002')
  const closed = startPlantctl(['events'], store.environment, { closeStdoutAfterBytes: 1 })
  expect(await closed.ended).toMatchObject({ code: 0, stderr: '' })
})

it('parked lists each parked record, shows how this release reads one, and reapplies none that it cannot read', async () => {
  const { objects } = await json('parked', 'list')
  expect(objects[0]).toMatchObject({ parked: 3, reasons: { otherType: 1, unknownVersion: 1, unreadablePayload: 1 } })
  const positions = truth.states.flatMap(({ parked }, partition) =>
    [...parked.keys()].map((offset) => `${partition}-${offset}`),
  )
  expect(objects[0].listed.map(({ position }: { position: string }) => position)).toEqual(positions)
  expect((await plantctl('parked', 'list', '--limit', '1')).stdout).toMatch(/3 records parked, the first 1 listed/)

  const show = (id: bigint) => plantctl('parked', 'show', positionOf(id))
  const newer = /claimed {3}1002\n(.|\n)*content-type: "application\/json; version=9"(.|\n)*knows it.*parked reapply/
  expect(await show(1_002n)).toMatchObject(printing(newer))
  const lost = /claimed {3}1003\n(.|\n)*This release +cannot read it: .*\n.*no later release will: the id stays used/
  expect(await show(1_003n)).toMatchObject(printing(lost))
  expect((await json('parked', 'show', positionOf(7n))).objects).toMatchObject([{ is: 'created', readModel: null }])
  const beyond = await plantctl('parked', 'show', '0-1000000')
  expect(beyond).toMatchObject({ ...failing(/the log ends before offset/), stdout: '' })

  const nothing = { dryRun: false, looked: 3, placed: 0, renamed: 0, kept: 3, needRebuild: [] }
  expect(await json('parked', 'reapply')).toEqual({ code: 0, objects: [nothing] })
  await expectReadModelToEqual(truth, store)
})

it('verify names a difference and its repair, and compares only the named partitions', async () => {
  const extent = new RegExp(`^no difference: ${PLANTS + 3} plants in 6 partitions\n$`)
  expect(await plantctl('verify')).toMatchObject(printing(extent))
  const P = 2 as Partition
  const { generation } = await store.readModel.meta(P)
  const [redis, at] = [openRedis(), `{${store.topic}:${P}}:${generation}`]
  // Not the first one: without it, a projector takes the generation for a damaged one and fills another.
  const [id = ''] = await redis.lrange(`${at}:order`, 1, 1)
  const entry = (await redis.hgetBuffer(`${at}:plants`, id)) as Buffer
  await redis.hdel(`${at}:plants`, id)
  const missing = new RegExp(`^partition 2, generation ${generation}: plant ${id} is missing: the log has {.*}\n$`)
  expect(await plantctl('verify')).toMatchObject({
    ...printing(missing, 3),
    stderr: expect.stringMatching(/^1 difference; compared (.|\n)*plantctl rebuild --partition 2\n$/m),
  })
  const unread = startPlantctl(['verify'], store.environment, { closeStdoutAfterBytes: 0 })
  expect(await unread.ended).toMatchObject(failing(/difference/, 3))
  expect(await json('verify', '--partition', '2')).toMatchObject({
    code: 3,
    objects: [{ differences: [{ partition: P, what: 'entryMissing', id }], more: 0, partitions: [{ partition: P }] }],
  })
  const others = allPartitions(store.partitions).flatMap((p) => (p === P ? [] : ['--partition', String(p)]))
  expect(await plantctl('verify', ...others)).toMatchObject({ code: 0 })
  await redis.hset(`${at}:plants`, id, entry)
})

it('rebuild names how to continue when it is interrupted; the next one continues, and reports each partition', async () => {
  const redis = openRedis()
  const slow = startPlantctl(['rebuild', '--throttle', '20'], store.environment)
  await eventually(async () => expect(await redis.keys(`{${store.topic}:*}:filling`)).not.toEqual([]))
  slow.kill('SIGINT')
  expect(await slow.ended).toMatchObject({
    ...failing(/Interrupted. .* run plantctl rebuild to continue/, 130),
    stdout: '',
  })
  const [between] = (await json('status')).objects
  const notices = expect.arrayContaining([expect.stringMatching(/a rebuild was interrupted/)])
  expect(between).toMatchObject({ well: true, notices })

  const { code, objects } = await json('rebuild')
  expect({ code, offsets: objects[0].offsets }).toEqual({ code: 0, offsets: PLANTS + 6 })
  expect(objects[0].partitions).toMatchObject(
    between.partitions.map(({ generation }: { generation: string }) => ({ is: 'switched', replaced: generation })),
  )
  await expectReadModelToEqual(truth, store)
  const again = await plantctl('rebuild', '--partition', '2')
  expect(again).toMatchObject(printing(/^Rebuilt 1 partition of 1: \d+ offsets of the log in [\d.]+ s\n$/))
})

it('events --follow prints new records with their rulings', async () => {
  const following = startPlantctl(['events', '--follow', '--json'], store.environment)
  // It starts at the end of the log: its first record shows that it is following.
  let id = 10_000n
  await eventually(async () => {
    await append(event(id++))
    expect(linesOf(following.stdout())).not.toEqual([])
  })
  const last = id++
  await append(event(last), event(last))
  const rulings = () => linesOf(following.stdout()).flatMap((one) => (one.id === String(last) ? [one.is] : []))
  await eventually(() => expect(rulings()).toEqual(['created', 'void']))
  following.kill('SIGTERM')
  expect((await following.ended).code).toBe(130)
})
