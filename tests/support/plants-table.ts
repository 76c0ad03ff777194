import { randomUUID } from 'node:crypto'
import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import { type Claim, type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { plantStored, type Row, tableRecordReader } from '@plant-store/shared/plant/plant-stored.ts'
import { offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, onTestFinished, vi } from 'vitest'
import { newPlant } from './generated-plants.ts'
import { mixedEvents, newEventId } from './new-events.ts'
import { createPlantStore, type Environment, type PlantStore } from './plant-store.ts'
import { type Ended, runPlantctl } from './plantctl.ts'
import { appendTo, createTableTopic, type TestTopic } from './topic.ts'
import type { Truth } from './truth.ts'

const WAIT = { timeout: 120_000, interval: 100 }

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

/** Follows a table from its first record until the test ends. */
export async function followTable({ kafka, topic, partitions }: TestTopic) {
  const read = tableRecordReader(partitions)
  const rows: (Row | undefined)[] = []
  const consumer = kafka.consumer({ groupId: `test-${randomUUID()}` })
  onTestFinished(() => consumer.disconnect())
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    async eachMessage({ partition, message: { offset, key, value, headers = {} } }) {
      rows.push(read({ offset: offsetOf(offset), key, value, headers }, partition as Partition).row)
    },
  })
  const plants = () => new Map(rows.flatMap((row) => (row === undefined ? [] : [[row.id, row] as const])))

  /** Records that are no row, and rows that are not the creation of their plant. */
  const wrong = (truth: Truth): (Row | undefined)[] =>
    rows.filter((row) => row === undefined || textOf(row) !== textOf(truth.winner(row.id)))

  return {
    plants,
    wrong,

    /** Waits until the table has each plant of the log that can be read: no void claim, no record that is no row. */
    async expectToEqual(truth: Truth): Promise<void> {
      const expected = truth.states.flatMap(readableIn)
      await vi.waitFor(() => expect(plants().size).toBeGreaterThanOrEqual(expected.length), WAIT)
      const found = plants()
      expect(expected.filter(({ id }) => !found.has(id))).toEqual([])
      expect(wrong(truth)).toEqual([])
    },
  }
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
