import { randomUUID } from 'node:crypto'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { rowAt } from '../../../tests/support/plants-table.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { recreateTopic } from '../../../tests/support/recreated-topic.ts'
import { appendTo, createTableTopic, createTestTopic } from '../../../tests/support/topic.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'
import type { TablePlant } from './plant-record.ts'
import { plantTable } from './plant-table.ts'

const PARTITIONS = 3
const WAIT = { timeout: 30_000 }

const rowOf = (id: bigint, offset: number) => rowAt(offset, id, PARTITIONS)

async function openTable() {
  const table = await createTableTopic(await createTestTopic(inject('kafkaBrokers'), PARTITIONS))
  return {
    ...table,
    append: (records: NewRecord[]) => appendTo(table, records),
    options: { brokers: inject('kafkaBrokers').split(','), table: table.topic, log: quietLog },
  }
}

it('has each plant of the table once, and follows it', async () => {
  const { append, options } = await openTable()
  const first = Array.from({ length: 100 }, (_, id) => rowOf(BigInt(id), id))
  // Repeated rows, and a record of another program.
  await append([...first, ...first.slice(0, 9), { ...rowOf(1n, 1), value: Buffer.from('no plant') }])
  const seen: TablePlant[] = []
  const log = { ...quietLog, warn: vi.fn() }
  const table = await plantTable({ ...options, log, onPlant: (plant) => seen.push(plant) })
  onTestFinished(table.close)
  await table.ready
  expect([table.size, seen.length, [...table].length]).toEqual([100, 100, 100])
  const { partition } = rowOf(7n, 7)
  expect(table.get(7n)).toEqual({ ...newPlant(7n), eventId: expect.any(String), partition, offset: 7 })
  expect(table.get(100n)).toBeUndefined()
  const unread = expect.objectContaining({ partition: rowOf(1n, 1).partition, records: 1 })
  expect(log.warn).toHaveBeenCalledWith(
    unread,
    expect.stringContaining('cannot be read: another program or a newer release'),
  )

  await append([rowOf(100n, 100)])
  await vi.waitFor(() => expect(table.get(100n)?.name).toBe('plant 100'), WAIT)
  expect([seen.at(-1)?.id, table.problems()]).toEqual([100n, []])
  await table.close()
  await table.ended
  expect(table.size).toBe(101)
})

it.each(['thrown', 'rejected'])(
  'calls onPlant again when it has %s, and says why the copy stands still',
  async (how) => {
    const { append, options } = await openTable()
    await append(Array.from({ length: 10 }, (_, id) => rowOf(BigInt(id), id)))
    let failures = 0
    const seen: bigint[] = []
    const onPlant = ({ id }: TablePlant) => {
      if (id === 5n && failures++ < 2) throw new Error('the listener fails')
      seen.push(id)
    }
    const table = await plantTable({
      ...options,
      onPlant: how === 'thrown' ? onPlant : async (plant) => onPlant(plant),
    })
    onTestFinished(table.close)
    await vi.waitFor(() => expect(table.problems().join()).toMatch(/the listener fails/), { ...WAIT, interval: 1 })
    await table.ready
    expect(new Set(seen)).toEqual(new Set(Array.from({ length: 10 }, (_, id) => BigInt(id))))
    expect(seen).toHaveLength(10)
    expect([failures, table.size]).toEqual([3, 10])
    await vi.waitFor(() => expect(table.problems()).toEqual([]), WAIT)
  },
)

it('is never ready when it is closed before', async () => {
  const { append, options } = await openTable()
  await append([rowOf(1n, 1)])
  const table = await plantTable(options)
  await table.close()
  await expect(table.ready).rejects.toThrow('the copy was closed before it was ready')
  await table.ended
})

it('an empty table is ready at once; one that is recreated ends the copy', async () => {
  const { options, ...topic } = await openTable()
  const table = await plantTable(options)
  onTestFinished(table.close)
  await table.ready
  expect(table.size).toBe(0)
  await topic.append([rowOf(1n, 0)])
  await vi.waitFor(() => expect(table.size).toBe(1), WAIT)
  await recreateTopic(topic, 5)
  await expect(table.ended).rejects.toMatchObject({ name: 'PlantConsumerError', code: 'another-log' })
})

it('names options and a topic that cannot be used', async () => {
  const { options } = await openTable()
  await expect(plantTable({ ...options, table: 'no topic', onPlants() {} } as never)).rejects.toThrow(
    /table must be a Kafka topic name; onPlants is not an option/,
  )
  const missing = plantTable({ ...options, table: `no-${randomUUID()}`, connectWithinMs: 0 })
  await expect(missing).rejects.toBeInstanceOf(PlantConsumerError)
  await expect(missing).rejects.toMatchObject({ code: 'topic-missing' })
})
