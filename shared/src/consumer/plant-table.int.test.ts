import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { rowAt } from '../../../tests/support/plants-table.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { recreateTopic } from '../../../tests/support/recreated-topic.ts'
import { appendTo, createTableTopic, createTestTopic } from '../../../tests/support/topic.ts'
import type { PlantTableOptions } from './options.ts'
import type { TablePlant } from './plant-record.ts'
import { plantTable } from './plant-table.ts'

const PARTITIONS = 3

/** Row n of these is plant n. */
const rows = (count: number) => Array.from({ length: count }, (_, n) => rowAt(n, BigInt(n), PARTITIONS))

/** A table that has these rows. */
async function openTable(count: number) {
  const table = await createTableTopic(await createTestTopic(inject('kafkaBrokers'), PARTITIONS))
  await appendTo(table, rows(count))
  return {
    ...table,
    async open(options: Partial<PlantTableOptions> = {}) {
      const brokers = inject('kafkaBrokers').split(',')
      const copy = await plantTable({ brokers, table: table.topic, log: quietLog, ...options })
      onTestFinished(copy.close)
      return copy
    },
  }
}

it('has each plant of the table once, and follows it', async () => {
  const { open, ...topic } = await openTable(100)
  const [row = expect.fail()] = rows(1)
  // Repeated rows, and a record of another program.
  await appendTo(topic, [...rows(9), { ...row, value: Buffer.from('no plant') }])
  const seen: TablePlant[] = []
  const log = { ...quietLog, warn: vi.fn() }
  const table = await open({ log, onPlant: (plant) => seen.push(plant) })
  await table.ready
  expect([table.size, seen.length, [...table].length]).toEqual([100, 100, 100])
  expect(table.get(0n)).toEqual({ ...newPlant(0n), eventId: expect.any(String), partition: row.partition, offset: 0 })
  expect(table.get(100n)).toBeUndefined()
  expect(log.warn).toHaveBeenCalledWith(
    expect.objectContaining({ partition: row.partition, records: 1 }),
    expect.stringContaining('cannot be read: another program or a newer release'),
  )

  await appendTo(topic, rows(101).slice(-1))
  await eventually(() => expect(table.get(100n)?.name).toBe('plant 100'))
  expect([seen.at(-1)?.id, table.problems()]).toEqual([100n, []])
  await table.close()
  await table.ended
  expect(table.size).toBe(101)
})

it.each<[string, (fail: () => void) => unknown]>([
  ['thrown', (fail) => fail()],
  ['rejected', async (fail) => fail()],
])('calls onPlant again when it has %s, and says why the copy stands still', async (_how, call) => {
  let failures = 0
  const seen: bigint[] = []
  const onPlant = ({ id }: TablePlant) =>
    call(() => {
      if (id === 5n && failures++ < 2) throw new Error('the listener fails')
      seen.push(id)
    })
  const table = await (await openTable(10)).open({ onPlant })
  await vi.waitFor(() => expect(table.problems().join()).toMatch(/the listener fails/), {
    timeout: 30_000,
    interval: 1,
  })
  await table.ready
  expect(new Set(seen).size).toBe(10)
  expect([seen.length, failures, table.size]).toEqual([10, 3, 10])
  await eventually(() => expect(table.problems()).toEqual([]))
})

it('is ready at once when it is empty, ends when the table is recreated, and names options that cannot be used', async () => {
  const { open, ...topic } = await openTable(0)
  const table = await open()
  await table.ready
  expect(table.size).toBe(0)
  await appendTo(topic, rows(1))
  await eventually(() => expect(table.size).toBe(1))
  await recreateTopic(topic, 5)
  await expect(table.ended).rejects.toMatchObject({ name: 'PlantConsumerError', code: 'another-log' })
  const invalid = /table must be a Kafka topic name; onPlants is not an option/
  await expect(open({ table: 'no topic', onPlants() {} } as never)).rejects.toThrow(invalid)
})
