import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { expect, it, vi } from 'vitest'
import { MAX_INT64, MIN_INT64 } from './support/generated-plants.ts'
import { mixedEvents, newEvent } from './support/new-events.ts'
import { createPlantStore, type PlantStore } from './support/plant-store.ts'
import { outputOf, runPlantctl } from './support/plantctl.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { appendTo } from './support/topic.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

type Summary = { plants: number; unreadable: number; positions: string; sha256: string }

/** Runs an exporting command, and checks the output against its last line. */
async function exported(store: PlantStore, ...args: string[]): Promise<Summary & { lines: string[] }> {
  return summaryOf(await outputOf(runPlantctl(args, store.environment)))
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
async function openWritten(): Promise<PlantStore> {
  const store = await createPlantStore()
  const edges = [MIN_INT64, MAX_INT64].map((id) => newEvent(id, store.partitions))
  await appendTo(store, [...mixedEvents(120, 100, store.partitions), ...edges])
  return store
}

/** An instant after all records that were written, and before all that follow. */
async function instantBetween(): Promise<string> {
  const now = Date.now()
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(now), { interval: 1 })
  return new Date(now).toISOString()
}

it('an export is the fold of the log, identical from Redis, from the log, and in a file', async () => {
  const store = await openWritten()
  await outputOf(runPlantctl(['rebuild', '--from-empty'], store.environment))
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
  const file = join(temporaryFolder(), 'plants.jsonl')
  expect(await outputOf(runPlantctl(['export', '--output', file], store.environment))).toBe('')
  expect(summaryOf(readFileSync(file, 'utf8'))).toEqual(whole)
})

const now = () => new Date().toISOString()

it('export --at writes the plants of an instant and of a position', async () => {
  const store = await openWritten()
  const before = await exported(store, 'export')
  const instant = await instantBetween()
  await appendTo(store, mixedEvents(150, 150, store.partitions))
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
