import fc from 'fast-check'
import { expect, it } from 'vitest'
import { eventIds, newPlants } from '../../../tests/support/generated-plants.ts'
import { plantOf } from './plant.ts'
import { plantCreated } from './plant-created.ts'
import { plantStored, type Row, tableRecordReader } from './plant-stored.ts'
import { FIRST, offsetOf, type Partition } from './position.ts'

const PARTITIONS = 12
const AT = offsetOf(9)
const read = tableRecordReader(PARTITIONS)
const rows = fc.tuple(newPlants, eventIds, fc.nat(2 ** 40)).map(([{ id, ...plant }, eventId, offset]) => {
  const { partition } = plantCreated({ ...plant, id }, eventId, PARTITIONS)
  return { partition, row: { id, eventId, offset: offsetOf(offset), plant: plantOf(plant) } satisfies Row }
})

it('a record of the table is read as the row that was written, with the payload of the event', () => {
  fc.assert(
    fc.property(rows, ({ partition, row }) => {
      const record = plantStored(row, partition)
      expect(read({ offset: AT, ...record }, partition)).toEqual({ offset: AT, row })
      const { key, value } = plantCreated({ ...row.plant, id: row.id }, row.eventId, PARTITIONS)
      expect([record.partition, record.key, record.value]).toEqual([partition, key, value])
    }),
  )
})

it('a record of the table is no row with another type, position, partition, key, event id, version or payload', () => {
  fc.assert(
    fc.property(rows, ({ partition, row }) => {
      const record = plantStored(row, partition)
      const other = ((partition + 1) % PARTITIONS) as Partition
      const text = (value: string) => Buffer.from(value)
      const changes: [Partial<typeof record>, Partition][] = [
        [{ headers: { ...record.headers, ce_type: text('PlantCreated') } }, partition],
        [{ headers: { ...record.headers, ce_position: text(`${other}-1`) } }, partition],
        [{ headers: { ...record.headers, ce_position: text('1') } }, partition],
        [{}, other],
        [{ key: text(`0${row.id}`) }, partition],
        [{ headers: { ...record.headers, ce_id: text('') } }, partition],
        [{ headers: { ...record.headers, 'content-type': text('application/json; version=9') } }, partition],
        [{ value: text('{}') }, partition],
      ]
      for (const [change, readIn] of changes)
        expect(read({ offset: FIRST, ...record, ...change }, readIn)).toEqual({ offset: FIRST })
    }),
  )
})
