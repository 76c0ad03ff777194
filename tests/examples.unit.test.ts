import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openPlantTable } from '../examples/own-table/plant-table.ts'
import { environment } from '../examples/run.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

it.each([
  [{}, 'plants.table'],
  [{ PLANTS_TOPIC: 'trees' }, 'trees.table'],
  [{ PLANTS_TOPIC: 'trees', PLANTS_TABLE: 'on' }, 'trees.table'],
  [{ PLANTS_TOPIC: 'trees', PLANTS_TABLE: 'trees.table.2' }, 'trees.table.2'],
])('with the settings %o, the examples read the table %s', (settings, table) => {
  expect(environment({ KAFKA_BROKERS: 'kafka:9092', ...settings }).PLANTS_TABLE).toBe(table)
})

it('only a rebuild that has ended replaces the own table, and no second one runs meanwhile', async () => {
  const file = join(temporaryFolder(), 'plants.sqlite')
  const [one, other] = [openPlantTable(file), openPlantTable(file)]
  const row = (id: bigint) => ({ id, name: `plant ${id}` })
  const ids = () => [...other.all()].map(({ id }) => id)
  one.add([row(1n)])
  const failing = one.rebuild(async (add) => {
    add([row(2n)])
    await expect(other.rebuild(async () => {})).rejects.toThrow('database is locked')
    expect(ids()).toEqual([1n])
    throw new Error('Kafka is away')
  })
  await expect(failing).rejects.toThrow('Kafka is away')
  one.close()
  expect(ids()).toEqual([1n])
  await other.rebuild(async (add) => add([row(3n)]))
  expect(ids()).toEqual([3n])
  other.close()
})
