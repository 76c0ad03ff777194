import { type Static, type TObject, Type } from 'typebox'
import { KAFKA_SETTINGS } from '../event-log/kafka-settings.ts'
import { REDIS_SETTINGS } from '../read-model/redis-settings.ts'
import { TRACING_SETTINGS } from '../tracing/tracing-settings.ts'

/** The settings that name a store: its log in Kafka and its read model in Redis. */
export const STORE_SETTINGS = {
  ...KAFKA_SETTINGS,
  ...REDIS_SETTINGS,
  PLANTS_TOPIC: Type.String({
    pattern: '^[a-zA-Z0-9._-]{1,249}$',
    default: 'plants',
    expected: 'a Kafka topic name',
  }),
  PLANTS_PARTITIONS: Type.Integer({ minimum: 1, maximum: 1_000, default: 12 }),
}

/** The settings of every service but its ports. */
export const SERVICE_SETTINGS = {
  ...TRACING_SETTINGS,
  ...STORE_SETTINGS,
  HOST: Type.String({ default: '127.0.0.1' }),
  LOG_LEVEL: Type.Enum(['debug', 'info', 'warn', 'error'], { default: 'info' }),
}

export type StoreSettings = Static<TObject<typeof STORE_SETTINGS>>
export type ServiceSettings = Static<TObject<typeof SERVICE_SETTINGS>> & { OPS_PORT: number }
