import { inject, onTestFinished } from 'vitest'
import type { RedisOptions, TestKafka, TestRedis } from './stores/from-processes.ts'
import { openSource } from './stores/source-choice.ts'

/** A Kafka for this test alone, to be paused or killed; it ends with the test. */
export async function startOwnKafka(): Promise<TestKafka> {
  const source = await openSource(inject('storeSource'), inject('testRun'))
  const kafka = await source.startKafka()
  onTestFinished(() => kafka.stop())
  return kafka
}

/** A Redis for this test alone, to be filled up, misconfigured or stopped; it ends with the test. */
export async function startOwnRedis(options: RedisOptions = {}): Promise<TestRedis> {
  const source = await openSource(inject('storeSource'), inject('testRun'))
  const redis = await source.startRedis(options)
  onTestFinished(() => redis.stop())
  return redis
}
