import { TABLE } from '@plant-store/shared/event-log/topic.ts'
import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import { type Claim, type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { plantStored, tableRecordReader } from '@plant-store/shared/plant/plant-stored.ts'
import { offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, vi } from 'vitest'
import { newPlant } from './generated-plants.ts'
import { mixedEvents, newEventId } from './new-events.ts'
import { createPlantStore, type Environment, type PlantStore } from './plant-store.ts'
import { type Ended, runPlantctl } from './plantctl.ts'
import { replayed } from './raw-records.ts'
import { appendTo, createTableTopic, type TestTopic } from './topic.ts'
import type { Truth } from './truth.ts'

const WAIT = { timeout: 120_000, interval: 100 }
/** The most plants to name that a table lacks. */
const SHOWN = 10

/** The settings of a projector that writes a table. */
export const WITH_TABLE = { PLANTS_TABLE: 'on' }

/** A store and its table; the services are up to the test. */
export async function createStoreWithTable(stores?: Environment) {
  const store = await createPlantStore(stores)
  return { store, table: await createTableTopic(store) }
}

/** Appends events of a few ids: some void, some repeated, some unreadable, some foreign. */
export const appendMixed = (topic: TestTopic, count: number, ids: number): Promise<void> =>
  appendTo(topic, mixedEvents(count, ids, topic.partitions))

/** The row of a creation that is at this offset of another log. */
export function rowAt(offset: number, of: bigint, partitions: number): NewRecord {
  const { id, ...plant } = newPlant(of)
  const eventId = newEventId()
  const { partition } = plantCreated(newPlant(id), eventId, partitions)
  return plantStored({ id, plant, eventId, offset: offsetOf(offset) }, partition)
}

export const appendRow = (topic: TestTopic, offset: number, of = 7n): Promise<void> =>
  appendTo(topic, [rowAt(offset, of, topic.partitions)])

/** Runs `plantctl verify --table`. */
export const verifyTable = ({ environment }: PlantStore, settings = WITH_TABLE): Promise<Ended> =>
  runPlantctl(['verify', '--table'], { ...environment, ...settings })

/** It finds no difference. */
export async function expectTableVerified(store: PlantStore, settings = WITH_TABLE): Promise<void> {
  const { code, stdout, stderr } = await verifyTable(store, settings)
  expect([code, stdout], stderr).toEqual([0, expect.stringMatching(/^no difference: /)])
}

/** Waits until a table has each plant of the log that can be read: no void claim, no record that is no row. */
export async function expectTableToEqual(table: TestTopic, truth: Truth): Promise<void> {
  const expected = truth.states.flatMap(readableIn)
  const records = await vi.waitFor(async () => {
    const { found } = await replayed(table, tableRecordReader(table.partitions), TABLE)
    const ids = new Set(found.map(({ row }) => row?.id))
    expect(expected.filter(({ id }) => !ids.has(id)).slice(0, SHOWN)).toEqual([])
    return found
  }, WAIT)
  const isWrong = ({ row }: (typeof records)[number]) =>
    row === undefined || textOf(row) !== textOf(truth.winner(row.id))
  expect(records.filter(isWrong)).toEqual([])
}

/** The plants of a partition that can be read. */
export const readableIn = ({ plants }: Truth['states'][number]) =>
  [...plants.values()].filter((claim) => claim.plant !== undefined)

/** The rows of these creations. */
export const rowsOf = ({ states }: Pick<Truth, 'states'>, isWritten: (offset: number) => boolean = () => true) =>
  states.flatMap((state, partition) =>
    readableIn(state).flatMap(({ plant, ...claim }) =>
      plant && isWritten(claim.offset) ? [plantStored({ ...claim, plant }, partition as Partition)] : [],
    ),
  )

const textOf = (claim: Claim | undefined) => claim && encodeEntry(claim).toString('hex')
