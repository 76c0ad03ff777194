import type { TopicSettings } from '@plant-store/shared/event-log/topic-configuration.ts'
import { inject } from 'vitest'
import { startPlantctl } from './plantctl.ts'
import { processEnvironment } from './test-run.ts'

/** The settings by which plantctl finds this topic. */
export const environmentOf = ({ topic, partitions }: TopicSettings) => ({
  ...processEnvironment,
  KAFKA_BROKERS: inject('kafkaBrokers'),
  REDIS_URL: inject('redisUrl'),
  PLANTS_TOPIC: topic,
  PLANTS_PARTITIONS: String(partitions),
})

/** plantctl on this topic. */
export function plantctlOf(topic: TopicSettings) {
  return (...args: string[]) => startPlantctl(args, environmentOf(topic)).ended
}
