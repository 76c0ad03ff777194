import { createKafka } from '../event-log/connection.ts'
import { securityOf } from '../event-log/kafka-security.ts'
import type { KafkaSettings } from '../event-log/kafka-settings.ts'
import { createReadModel } from '../read-model/read-model.ts'
import type { Patience } from '../read-model/redis.ts'
import type { RedisSettings } from '../read-model/redis-settings.ts'
import type { Log } from '../runtime/log.ts'
import { assertFilesRespond } from '../runtime/setting-files.ts'
import { type StoreSettings, tableOf } from './store-settings.ts'

/** The log in Kafka and the read model in Redis that a process works on. */
export type Stores = Awaited<ReturnType<typeof createStores>>

/**
 * Creates the clients of both stores. It waits for neither: the Redis client connects in the background, and the Kafka
 * client connects when it is used. Throws a PreconditionError when settings contradict each other, or name files of a
 * file system that does not respond. `close` ends the Redis client; producers and consumers of `kafka` close
 * themselves. `table` is the topic of the table; undefined without one. `source` is the `ce_source` of the events.
 */
export async function createStores(
  settings: StoreSettings,
  clientId: string,
  log: Log,
  { kafkaLog = log, ...patience }: { kafkaLog?: Log } & Patience = {},
) {
  await assertFilesRespond(settings as KafkaSettings & RedisSettings)
  const topic = { topic: settings.PLANTS_TOPIC, partitions: settings.PLANTS_PARTITIONS }
  const kafka = createKafka(settings.KAFKA_BROKERS.split(','), clientId, kafkaLog, securityOf(settings))
  const readModel = createReadModel({ redis: settings, ...topic }, log, patience)
  const { EVENT_SOURCE: source } = settings
  return { ...topic, table: tableOf(settings), source, kafka, readModel, close: readModel.close }
}
