import { Type } from 'typebox'

/** The settings of the connection to Kafka; docs/reference/settings.md explains each. */
export const KAFKA_SETTINGS = {
  KAFKA_BROKERS: Type.String({
    pattern: '^[^,\\s]+:\\d+(,[^,\\s]+:\\d+)*$',
    expected: 'host:port, or several separated by commas',
  }),
}
