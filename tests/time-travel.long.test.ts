import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { openRebuild } from '../plantctl/src/rebuild/open-rebuild.ts'
import { MAX_INT64, MIN_INT64, newPlant } from './support/generated-plants.ts'
import { createPlantStore, type PlantStore } from './support/plant-store.ts'
import { startPlantctl } from './support/plantctl.ts'
import { quietLog } from './support/quiet-log.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }

const plantctl = (store: PlantStore, ...args: string[]) => startPlantctl(args, store.environment).ended

type Summary = { plants: number; unreadable: number; positions: string; sha256: string }

/** Runs an exporting command, and checks the output against its last line. */
async function exported(store: PlantStore, ...args: string[]): Promise<Summary & { lines: string[] }> {
  const { code, stdout, stderr } = await plantctl(store, ...args)
  expect({ code, error: code === 0 ? '' : stderr }).toEqual({ code: 0, error: '' })
  return summaryOf(stdout)
}

function summaryOf(text: string): Summary & { lines: string[] } {
  const lines = text.split('\n').slice(0, -1)
  const { export: summary } = JSON.parse(lines.pop() as string)
  const digest = createHash('sha256').update(lines.map((line) => `${line}\n`).join(''))
  expect(summary.sha256).toBe(digest.digest('hex'))
  expect(summary.plants).toBe(lines.length)
  return { ...summary, lines }
}

/** A store with events of all kinds. */
async function openWritten() {
  const store = await createPlantStore(stores)
  const appender = createAppender(store.kafka, store.topic)
  await appender.connect()
  onTestFinished(() => appender.close())
  const eventOf = (id: bigint) => plantCreated(newPlant(id), randomUUID() as EventId, store.partitions)
  const events = (first: number, count: number): NewRecord[] =>
    Array.from({ length: count }, (_, n) => eventOf(BigInt(first + n))).flatMap((event, n) => {
      if (n % 5 === 0) return [event, eventOf(BigInt(first + n))]
      if (n % 7 === 0) return [{ ...event, value: Buffer.from('{') }]
      if (n % 11 === 0) return [event, { ...event, headers: {} }]
      return [event]
    })
  await appender.append([...events(0, 100), eventOf(MIN_INT64), eventOf(MAX_INT64)])
  return { store, append: appender.append, events, eventOf }
}

/** An instant after all records that were written, and before all that follow. */
async function instantBetween(): Promise<string> {
  const now = Date.now()
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(now), { interval: 1 })
  return new Date(now).toISOString()
}

it('an export is the fold of the log, identical from Redis and from the log, before and after a rebuild', async () => {
  const { store } = await openWritten()
  await store.startProjector()
  const truth = await readTruth(store)
  await expectReadModelToEqual(truth, store)
  const whole = await exported(store, 'export')
  expect(whole.lines.map((line) => JSON.parse(line))).toEqual(
    truth.states.flatMap(({ plants }, partition) =>
      [...plants.values()].map(({ id, plant, offset, eventId }) => ({
        id: String(id),
        ...(plant ?? { unreadable: true }),
        position: `${partition}-${offset}`,
        event: eventId,
      })),
    ),
  )
  expect(whole.unreadable).toBeGreaterThan(0)
  expect(whole.lines.join('')).toContain(`"id":"${MIN_INT64}"`)
  expect(await exported(store, 'export')).toEqual(whole)
  expect(await exported(store, 'export', '--from-redis')).toEqual(whole)

  const { kafka, topic, partitions, readModel } = store
  const rebuild = openRebuild({ kafka, topic, partitions, generations: readModel.generations, log: quietLog })
  await rebuild.run({
    partitions: allPartitions(partitions),
    fromEmpty: false,
    signal: new AbortController().signal,
    onProgress() {},
  })
  expect(await exported(store, 'export', '--from-redis')).toEqual(whole)
})

const now = () => new Date().toISOString()

it('as-of returns the plants of an instant and of a position', async () => {
  const { store, append, events } = await openWritten()
  const before = await exported(store, 'export')
  const instant = await instantBetween()
  await append(events(50, 100))
  const after = await exported(store, 'export')
  expect(after.plants).toBeGreaterThan(before.plants)
  expect(after.lines.filter((line) => !before.lines.includes(line))).not.toEqual([])

  expect(await exported(store, 'as-of', instant)).toEqual(before)
  expect(await exported(store, 'as-of', before.positions)).toEqual(before)
  expect(await exported(store, 'as-of', now())).toEqual(after)
  expect(await exported(store, 'as-of', '1d')).toMatchObject({ plants: 0, positions: '' })

  const [first = ''] = before.positions.split(',')
  const { ends } = await checkTopic(store.kafka, store)
  expect(await exported(store, 'as-of', first, '--rest', 'empty')).toMatchObject({ positions: first })
  const [partition = ''] = first.split('-')
  const rest = await exported(store, 'as-of', first, '--rest', 'now')
  const positions = ends.map((end, p) => (String(p) === partition ? first : `${p}-${end - 1}`))
  expect(rest.positions).toBe(positions.join(','))
})

it('as-of --id shows whether a plant existed, and what created it', async () => {
  const { store, append, eventOf } = await openWritten()
  const create = eventOf(7_000n)
  const { partition } = create
  const endOf = async () => (await checkTopic(store.kafka, store)).ends[partition] as number
  const offset = await endOf()
  const instant = await instantBetween()
  await append([create, eventOf(7_000n)])
  const unreadable = eventOf(-7_000n)
  await append([{ ...unreadable, value: Buffer.from('{') }])

  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await plantctl(store, 'as-of', ...args, '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }
  const absent = { id: '7000', state: 'absent', partition, upTo: offset - 1 }
  const created = {
    id: '7000',
    state: 'created',
    partition,
    upTo: offset,
    name: 'plant 7000',
    position: `${partition}-${offset}`,
    event: String(create.headers.ce_id),
    at: expect.stringMatching(/^\d{4}-.*Z$/),
  }
  expect(await json(instant, '--id', '7000')).toEqual(absent)
  expect(await json(`${partition}-${offset - 1}`, '--id', '7000')).toEqual(absent)
  expect(await json(`${partition}-${offset}`, '--id', '7000')).toEqual(created)
  expect(await json(`${partition}-${offset + 1}`, '--id', '7000')).toEqual({ ...created, upTo: offset + 1 })
  expect(Date.parse((await json(now(), '--id', '7000')).at)).toBeGreaterThan(Date.parse(instant))
  expect(await json(now(), '--id=-7000')).toMatchObject({
    id: '-7000',
    state: 'unreadable',
    event: String(unreadable.headers.ce_id),
  })
  const text = await plantctl(store, 'as-of', now(), '--id', '7000')
  expect(text.stdout).toMatch(/^plant 7000 existed .*\n {2}name +"plant 7000"\n {2}created at /)
  const never = await plantctl(store, 'as-of', now(), '--id', '70000')
  expect(never).toMatchObject({ code: 0, stdout: expect.stringMatching(/^plant 70000 did not exist/) })
})

it('--output writes a complete file or none', async () => {
  const { store } = await openWritten()
  const folder = temporaryFolder()
  const file = join(folder, 'plants.jsonl')
  writeFileSync(file, 'previous content')
  const { code, stdout } = await plantctl(store, 'export', '--output', file)
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(summaryOf(readFileSync(file, 'utf8'))).toEqual(await exported(store, 'export'))
  expect(readdirSync(folder)).toEqual(['plants.jsonl'])

  const refused = await plantctl(store, 'as-of', now(), '--output', join(folder, 'no', 'plants.jsonl'))
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/--output .*no such file/) })
})

it.each<[string[], RegExp]>([
  [['as-of'], /expected one time or position/],
  [['as-of', '1d', '2d'], /expected one time or position/],
  [['as-of', 'yesterday'], /expected an instant such as/],
  [['as-of', '2999-01-01T00:00:00Z'], /in the future/],
  [['as-of', '6-0'], /partition, at most 5, and offset/],
  [['as-of', '0-0', '--rest', 'empty'], /partition 0 of the log ends before offset 0/],
  [['as-of', '0-0'], /no position for partitions 1-5: add --rest now .* or --rest empty/],
  [['as-of', '0-0', '--rest', 'later'], /--rest later: expected now or empty/],
  [['as-of', '1d', '--id', '007'], /--id 007: expected an int64/],
  [['as-of', '1d', '--json'], /--json needs --id/],
  [['as-of', '1d', '--id', '7', '--output', 'x'], /--output cannot be combined with --id/],
  [['export', 'all'], /all/],
])('refuses %j, and names what is expected', async (args, message) => {
  const store = await createPlantStore(stores)
  const { code, stdout, stderr } = await plantctl(store, ...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})
