import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { expect, it, onTestFinished, vi } from 'vitest'
import { rebuildStore } from '../plantctl/src/rebuild/open-rebuild.ts'
import { MAX_INT64, MIN_INT64 } from './support/generated-plants.ts'
import { newEvent } from './support/new-events.ts'
import { createPlantStore, type PlantStore } from './support/plant-store.ts'
import { startPlantctl } from './support/plantctl.ts'
import { quietLog } from './support/quiet-log.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

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
  const store = await createPlantStore()
  const appender = createAppender(store.kafka, store.topic)
  await appender.connect()
  onTestFinished(() => appender.close())
  const eventOf = (id: bigint) => newEvent(id, store.partitions)
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
  await rebuildStore(
    { kafka, topic, partitions, generations: readModel.generations, log: quietLog },
    {
      partitions: allPartitions(partitions),
      fromEmpty: false,
      signal: new AbortController().signal,
      onProgress() {},
    },
  )
  expect(await exported(store, 'export', '--from-redis')).toEqual(whole)
})

const now = () => new Date().toISOString()

it('export --at writes the plants of an instant and of a position', async () => {
  const { store, append, events } = await openWritten()
  const before = await exported(store, 'export')
  const instant = await instantBetween()
  await append(events(50, 100))
  const after = await exported(store, 'export')
  expect(after.plants).toBeGreaterThan(before.plants)
  expect(after.lines.filter((line) => !before.lines.includes(line))).not.toEqual([])

  expect(await exported(store, 'export', '--at', instant)).toEqual(before)
  expect(await exported(store, 'export', '--at', before.positions)).toEqual(before)
  expect(await exported(store, 'export', '--at', now())).toEqual(after)
  expect(await exported(store, 'export', '--at', '1d')).toMatchObject({ plants: 0, positions: '' })

  const [first = ''] = before.positions.split(',')
  const { ends } = await checkTopic(store.kafka, store)
  expect(await exported(store, 'export', '--at', first, '--rest', 'empty')).toMatchObject({ positions: first })
  const [partition = ''] = first.split('-')
  const rest = await exported(store, 'export', '--at', first, '--rest', 'now')
  const positions = ends.map((end, p) => (String(p) === partition ? first : `${p}-${end - 1}`))
  expect(rest.positions).toBe(positions.join(','))
})

it('events --id --to shows whether a plant existed, and what created it', async () => {
  const { store, append, eventOf } = await openWritten()
  await store.startProjector()
  const create = eventOf(7_000n)
  const { partition } = create
  const offset = (await checkTopic(store.kafka, store)).ends[partition] as number
  const instant = await instantBetween()
  await append([create, eventOf(7_000n)])
  const unreadable = eventOf(-7_000n)
  await append([{ ...unreadable, value: Buffer.from('{') }])

  const json = async (...args: string[]) => {
    const { code, stdout } = await plantctl(store, 'events', ...args, '--json')
    expect(code).toBe(0)
    const lines = stdout.split('\n').filter((line) => line !== '')
    return lines.map((line) => JSON.parse(line))
  }
  const created = {
    id: '7000',
    is: 'created',
    partition,
    offset,
    plant: { name: 'plant 7000' },
    position: `${partition}-${offset}`,
    event: String(create.headers.ce_id),
    time: expect.stringMatching(/^\d{4}-.*Z$/),
  }
  expect(await json('--id', '7000', '--to', instant)).toEqual([])
  expect(await json('--id', '7000', '--to', `${partition}-${offset - 1}`)).toEqual([])
  expect(await json('--id', '7000', '--to', `${partition}-${offset}`)).toEqual([created])
  const both = await json('--id', '7000', '--to', `${partition}-${offset + 1}`)
  expect(both).toEqual([created, expect.objectContaining({ is: 'void', of: created.position })])
  expect(Date.parse(both[0].time)).toBeGreaterThan(Date.parse(instant))
  expect(await json('--id', '7000', '--limit', '1')).toEqual([created])
  const [other] = await json('--id=-7000')
  expect(other).toMatchObject({ id: '-7000', plant: null, event: String(unreadable.headers.ce_id) })
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

  const refused = await plantctl(store, 'export', '--at', now(), '--output', join(folder, 'no', 'plants.jsonl'))
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/--output .*no such file/) })
})

it.each<[string[], RegExp]>([
  [['export', '--at', '2999-01-01T00:00:00Z'], /in the future/],
  [['export', '--at', '0-0', '--rest', 'empty'], /partition 0 of the log ends before offset 0/],
  [['export', '--at', '0-0'], /no position for partitions 1-5: add --rest now .* or --rest empty/],
  [['export', '--at', '0-0', '--rest', 'later'], /--rest later: expected now or empty/],
  [['export', '--at', '1d', '--from-redis'], /--from-redis cannot be combined with --at/],
  [['export', 'all'], /all/],
])('refuses %j, and names what is expected', async (args, message) => {
  const store = await createPlantStore()
  const { code, stdout, stderr } = await plantctl(store, ...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})
