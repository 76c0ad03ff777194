import { Type } from 'typebox'
import type { Security } from '../event-log/connection.ts'
import { securityOf } from '../event-log/kafka-security.ts'
import { KAFKA_SETTINGS } from '../event-log/kafka-settings.ts'
import { messageOf } from '../runtime/failures.ts'
import { readSettings } from '../runtime/settings.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'

const Settings = Type.Object(KAFKA_SETTINGS)

/**
 * The options of the connection from the settings of Plant Store, `KAFKA_BROKERS` and the others. Files are read again
 * at each connection. Throws a PlantConsumerError that names every missing or invalid setting.
 */
export function kafkaOptions(env: NodeJS.ProcessEnv): Security & { brokers: string[] } {
  try {
    const settings = readSettings(Settings, env)
    return { brokers: settings.KAFKA_BROKERS.split(','), ...securityOf(settings) }
  } catch (error) {
    throw new PlantConsumerError('invalid-options', messageOf(error), { cause: error })
  }
}
