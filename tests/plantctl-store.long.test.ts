import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { partitionOf } from '@plant-store/shared/plant/position.ts'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
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

const append = (records: readonly NewRecord[]) => appendTo(store, records)

beforeAll(async () => {
  store = await openPlantStore()
  const ids = Array.from({ length: PLANTS }, (_, n) => BigInt(n))
  await append(ids.map((id) => event(id)))
  const again = event(1_000n)
  const foreign = {
    ...event(1_001n),
    headers: { ce_type: Buffer.from('\x1b[31mOther') },
  }
  const unreadable = event(1_002n)
  const newer = { ...unreadable.headers, 'content-type': Buffer.from('application/json; version=9') }
  writtenFrom = new Date().toISOString()
  await append([event(7n), again, again, foreign, { ...unreadable, headers: newer }])
  await Promise.all([store.startApi(), store.startProjector()])
  return store.end
})
beforeEach(async () => {
  if (truth !== undefined) return
  truth = await readTruth(store)
  await expectReadModelToEqual(truth, store)
})

const plantctl = (...args: string[]) => runPlantctl(args, store.environment)

async function json(...args: string[]) {
  const { code, stdout, stderr } = await plantctl(...args, '--json')
  const lines = stdout.split('\n').filter((line) => line !== '')
  return { code, stderr, objects: lines.map((line) => JSON.parse(line)) }
}

const positionOf = (id: bigint): string => `${partitionOfId(id)}-${truth.winner(id)?.offset}`

describe('plantctl status', () => {
  it('reports no problems, the totals and the readers', async () => {
    const { code, objects } = await json('status')
    expect({ code, well: objects[0].well }).toEqual({ code: 0, well: true })
    const voids = truth.states.reduce((sum, one) => sum + one.voids, 0)
    expect(objects[0].totals).toMatchObject({
      offsets: PLANTS + 5,
      lag: 0,
      plants: PLANTS + 2,
      voids,
      parked: 2,
    })
    expect(objects[0].totals.bytes).toBeGreaterThan(PLANTS * ENTRY_BYTES_MIN)
    expect(voids).toBe(1)
    expect(objects[0]).toMatchObject({
      projectors: [{ clientId: 'plant-store-projector', partitions: [0, 1, 2, 3, 4, 5] }],
      apis: [{ clientId: 'plant-store-api', partitions: [0, 1, 2, 3, 4, 5] }],
    })
    for (const [partition, { checkpoint, plants }] of truth.states.entries()) {
      expect(objects[0].partitions[partition]).toMatchObject({
        partition,
        checkpoint: checkpoint.offset,
        plants: plants.size,
        lag: 0,
      })
    }
  })

  it('repeats with --watch until it is interrupted', async () => {
    const watch = startPlantctl(['status', '--watch', '--json'], store.environment)
    await eventually(() => expect(watch.stdout().split('\n').length).toBeGreaterThan(2))
    watch.kill('SIGINT')
    const { code, stdout } = await watch.ended
    expect(code).toBe(130)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ well }) => well)).toEqual(lines.map(() => true))
  })
})

describe('plantctl events', () => {
  it('prints every record of one id with its ruling', async () => {
    const { code, objects } = await json('events', '--id', '7')
    expect(code).toBe(0)
    expect(objects).toMatchObject([
      { position: positionOf(7n), is: 'created', id: '7', plant: { name: 'plant 7' } },
      { is: 'void', of: positionOf(7n), id: '7' },
    ])
    expect((await json('events', '--id', '1000')).objects).toMatchObject([
      { is: 'created' },
      { is: 'repeated', of: positionOf(1_000n) },
    ])
    expect(await plantctl('events', '--id=-7')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No records found.\n',
    })
  })

  it('prints a foreign record as text that is safe for a terminal', async () => {
    const { stdout } = await plantctl('events', '--from', writtenFrom)
    expect(stdout.split('\n')).toHaveLength(6)
    expect(stdout).toContain('parked: its ce_type header is not PlantCreated  key "1001"  ce_type "\\u001b[31mOther"')
    expect(stdout).toMatch(/created {3}1002 {2}event .* {2}parked: its content-type header names a version/)
    expect(stdout).not.toContain('\x1b')
  })

  it('accepts positions, a limit, partitions and --raw', async () => {
    const partition = partitionOfId(7n)
    expect(
      (await json('events', '--from', `${partition}-1`, '--to', `${partition}-3`)).objects.map(
        ({ position }) => position,
      ),
    ).toEqual([1, 2, 3].map((offset) => `${partition}-${offset}`))
    expect((await json('events', '--partition', '2', '--limit', '4')).objects.map(({ position }) => position)).toEqual([
      '2-0',
      '2-1',
      '2-2',
      '2-3',
    ])
    const [raw] = (await json('events', '--id', '1002', '--raw')).objects
    expect(Buffer.from(raw.raw.headers['content-type'], 'base64').toString()).toBe('application/json; version=9')
    expect(Buffer.from(raw.raw.key, 'base64').toString()).toBe('1002')
  })

  it('ends quietly when the reader closes the pipe', async () => {
    const events = startPlantctl(['events'], store.environment, { closeStdoutAfterBytes: 1 })
    expect(await events.ended).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('plantctl parked', () => {
  it('lists each parked record with its reason, and the number by reason', async () => {
    const { objects } = await json('parked', 'list')
    expect(objects[0]).toMatchObject({ parked: 2, reasons: { otherType: 1, unknownVersion: 1 } })
    const positions = truth.states.flatMap(({ parked }, partition) =>
      [...parked.keys()].map((offset) => `${partition}-${offset}`),
    )
    expect(objects[0].listed.map(({ position }: { position: string }) => position)).toEqual(positions)
    expect((await plantctl('parked', 'list', '--limit', '1')).stdout).toMatch(/2 records parked, the first 1 listed/)
  })

  it('shows one record, and how this release reads it', async () => {
    const { stdout } = await plantctl('parked', 'show', positionOf(1_002n))
    expect(stdout).toMatch(/content-type: "application\/json; version=9"/)
    expect(stdout).toMatch(/This release +cannot read it: /)
    expect((await json('parked', 'show', positionOf(7n))).objects).toMatchObject([{ is: 'created', readModel: null }])
    const beyond = await plantctl('parked', 'show', '0-1000000')
    expect(beyond).toMatchObject({ ...failing(/the log ends before offset/), stdout: '' })
  })

  it('reapplies nothing that this release cannot read', async () => {
    const { code, objects } = await json('parked', 'reapply')
    expect({ code, objects }).toEqual({
      code: 0,
      objects: [{ dryRun: false, looked: 2, placed: 0, renamed: 0, kept: 2, needRebuild: [] }],
    })
    await expectReadModelToEqual(truth, store)
  })
})

describe('plantctl rebuild', () => {
  it('names how to continue when it is interrupted; the next one continues and reports each partition', async () => {
    const redis = openRedis()
    const slow = startPlantctl(['rebuild', '--throttle', '20'], store.environment)
    const isFilling = async () => expect(await redis.keys(`{${store.topic}:*}:filling`)).not.toEqual([])
    await eventually(isFilling)
    slow.kill('SIGINT')
    const { code, stdout, stderr } = await slow.ended
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toMatch(/Interrupted. .* run plantctl rebuild to continue/)
    const between = (await json('status')).objects[0]
    expect(between).toMatchObject({
      well: true,
      notices: expect.arrayContaining([expect.stringMatching(/a rebuild was interrupted/)]),
    })

    const rebuilt = await json('rebuild')
    expect(rebuilt.code).toBe(0)
    const { partitions, offsets } = rebuilt.objects[0]
    expect(offsets).toBe(PLANTS + 5)
    expect(partitions.map(({ is, replaced }: { is: string; replaced: string }) => [is, replaced])).toEqual(
      between.partitions.map(({ generation }: { generation: string }) => ['switched', generation]),
    )
    await expectReadModelToEqual(truth, store)
    const again = await plantctl('rebuild', '--partition', '2')
    expect(again).toMatchObject(printing(/^Rebuilt 1 partition of 1: \d+ offsets of the log in [\d.]+ s\n$/))
  })
})

it('events --follow prints new records with their rulings', async () => {
  const following = startPlantctl(['events', '--follow', '--json'], store.environment)
  const shown = () =>
    following
      .stdout()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  // It starts at the end of the log: its first record shows that it is following.
  let id = 10_000n
  await eventually(async () => {
    await append([event(id++)])
    expect(shown().length).toBeGreaterThan(0)
  })
  const last = id++
  await append([event(last), event(last)])
  await eventually(() =>
    expect(
      shown()
        .filter((one) => one.id === String(last))
        .map(({ is }) => is),
    ).toEqual(['created', 'void']),
  )
  following.kill('SIGTERM')
  expect((await following.ended).code).toBe(130)
})
