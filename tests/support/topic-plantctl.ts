import type { TopicSettings } from '@plant-store/shared/event-log/topic-configuration.ts'
import { inject } from 'vitest'
import { runPlantctl } from './plantctl.ts'
import { processEnvironment } from './test-run.ts'

/** The settings by which plantctl finds this topic. */
export const environmentOf = ({ topic, partitions }: TopicSettings) => ({
  ...processEnvironment,
  KAFKA_BROKERS: inject('kafkaBrokers'),
  REDIS_URL: inject('redisUrl'),
  PLANTS_TOPIC: topic,
  PLANTS_PARTITIONS: String(partitions),
})

/** The commands of plantctl on this topic, in this process. */
export function plantctlOf(topic: TopicSettings) {
  return (...args: string[]) => runPlantctl(args, environmentOf(topic))
}
