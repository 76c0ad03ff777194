import { plantTable } from '@plant-store/shared/consumer/plant-table.ts'
import { TABLE } from '@plant-store/shared/event-log/topic.ts'
import { tableRecordReader } from '@plant-store/shared/plant/plant-stored.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { createPlant, idsFrom, onConnections } from './support/client.ts'
import { createPlantStore } from './support/plant-store.ts'
import { expectTableToEqual, expectTableVerified, rowsOf, WITH_TABLE } from './support/plants-table.ts'
import { quietLog } from './support/quiet-log.ts'
import { replayed } from './support/raw-records.ts'
import { appendTo, COMPACTED_AT_ONCE, createTableTopic, setTopicConfig } from './support/topic.ts'
import { readTruth } from './support/truth.ts'

it('a table that Kafka has compacted has each plant, and tells where it ends', async () => {
  const store = await createPlantStore()
  const table = await createTableTopic(store)
  await setTopicConfig(table, COMPACTED_AT_ONCE)
  const [api, first] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  await onConnections(8, idsFrom(0, 300), (id) => createPlant(api.url, id, `plant ${id}`))
  await expectTableToEqual(table, await readTruth(store))
  await first.stop({ graceMs: 10_000 })

  const rows = rowsOf(await readTruth(store))
  await appendTo(table, rows)
  const some = rows.filter((_, n) => n % 10 === 0)
  // Each append ends a segment; only ended ones are compacted.
  await vi.waitFor(
    async () => {
      await appendTo(table, some)
      const { found } = await replayed(table, tableRecordReader(table.partitions), TABLE)
      expect(found.length).toBeLessThan(rows.length * 1.5)
    },
    { timeout: 120_000, interval: 1_000 },
  )

  await onConnections(8, idsFrom(300, 300), (id) => createPlant(api.url, id, `plant ${id}`))
  await store.startProjector(WITH_TABLE)
  await expectTableToEqual(table, await readTruth(store))
  const copy = await plantTable({ brokers: inject('kafkaBrokers').split(','), table: table.topic, log: quietLog })
  onTestFinished(copy.close)
  await copy.ready
  expect(copy.size).toBe(600)
  await expectTableVerified(store)
})
