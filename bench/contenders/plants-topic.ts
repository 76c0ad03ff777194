import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { SERVICE_SETTINGS } from '@plant-store/shared/stores/store-settings.ts'
import { Type } from 'typebox'
import { createTableTopic, createTestTopic } from '../../tests/support/topic.ts'

/** A topic of one run alone, made as the product makes it, with as many partitions as by default, and its table. */
export async function openPlantsTopic(kafkaBrokers: string, { withTable = false } = {}) {
  const unused = { KAFKA_BROKERS: kafkaBrokers, REDIS_URL: 'redis://127.0.0.1:1' }
  const { PLANTS_PARTITIONS: partitions } = readSettings(Type.Object(SERVICE_SETTINGS), unused)
  const { kafka, topic } = await createTestTopic(kafkaBrokers, partitions)
  const tables = withTable ? [(await createTableTopic({ kafka, topic, partitions })).topic] : []
  const log = createLog('bench', 'error')

  return {
    ...{ topic, partitions },

    /** Those of these ids that no record in the log claims. Reads the whole log. */
    async missing(acknowledged: Iterable<bigint>): Promise<bigint[]> {
      const missing = new Set<bigint>(acknowledged)
      const { ends } = await checkTopic(kafka, { topic, partitions })
      await replay({
        ...{ kafka, topic, partitions, log, time: systemTime, read: recordReader(partitions) },
        ranges: new Map(ends.map((end, partition) => [partition as Partition, { from: BEFORE_LOG, end }])),
        onRecords(_partition, records) {
          for (const { claim } of records) if (claim?.plant !== undefined) missing.delete(claim.id)
        },
      })
      return [...missing]
    },

    async remove(): Promise<void> {
      await withAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic, ...tables] }))
    },
  }
}
