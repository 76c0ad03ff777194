import { type Static, type TObject, Type } from 'typebox'
import { KAFKA_SETTINGS } from '../event-log/kafka-settings.ts'
import { TOPIC_NAME } from '../event-log/log-identity.ts'
import { DEFAULT_SOURCE } from '../plant/plant-created.ts'
import { REDIS_SETTINGS } from '../read-model/redis-settings.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { LOG_LEVELS } from '../runtime/json-log.ts'
import { TRACING_SETTINGS } from '../tracing/tracing-settings.ts'

/** A URI or an absolute path (RFC 3986), to which a path segment can be appended. */
const SOURCE = /^([a-z][a-z0-9+.-]*:|\/)[\w.~:/-]*[\w.~-]$/

/** The settings that name a store: its log in Kafka and its read model in Redis. */
export const STORE_SETTINGS = {
  ...KAFKA_SETTINGS,
  ...REDIS_SETTINGS,
  PLANTS_TOPIC: Type.String({
    pattern: TOPIC_NAME.source,
    default: 'plants',
    expected: 'a Kafka topic name',
  }),
  PLANTS_PARTITIONS: Type.Integer({ minimum: 1, maximum: 1_000, default: 12 }),
  PLANTS_TABLE: Type.String({
    pattern: TOPIC_NAME.source,
    default: 'off',
    expected: 'on, off or a Kafka topic name',
  }),
  EVENT_SOURCE: Type.String({
    pattern: SOURCE.source,
    maxLength: 100,
    default: DEFAULT_SOURCE,
    expected:
      'a URI, or a path such as /plants, of at most 100 letters, digits and -._~:/ that does not end with : or /',
  }),
}

/** The settings of every service but its ports. */
export const SERVICE_SETTINGS = {
  ...TRACING_SETTINGS,
  ...STORE_SETTINGS,
  HOST: Type.String({ default: '127.0.0.1' }),
  OPS_HOSTS: Type.Optional(
    Type.String({ pattern: '^[\\w.-]+( *, *[\\w.-]+)*$', expected: 'host names without a port, separated by commas' }),
  ),
  LOG_LEVEL: Type.Enum(LOG_LEVELS, { default: 'info' }),
}

/** The topic of the table with `PLANTS_TABLE=on`. */
export const usualTableOf = (topic: string) => `${topic}.table`

/** The topic of the table; undefined without a table. Throws a PreconditionError when it cannot be one. */
export function tableOf({
  PLANTS_TOPIC: topic,
  PLANTS_TABLE: table,
}: Pick<StoreSettings, 'PLANTS_TOPIC' | 'PLANTS_TABLE'>): string | undefined {
  if (table === topic) throw new PreconditionError(`PLANTS_TABLE must not be the topic of the log: it is ${topic}`)
  if (table !== 'on') return table === 'off' ? undefined : table
  const name = usualTableOf(topic)
  if (TOPIC_NAME.test(name)) return name
  throw new PreconditionError(
    `PLANTS_TABLE=on makes a name of ${name.length} characters: set it to a name of at most 249`,
  )
}

export type StoreSettings = Static<TObject<typeof STORE_SETTINGS>>
export type ServiceSettings = Static<TObject<typeof SERVICE_SETTINGS>> & { OPS_PORT: number }
