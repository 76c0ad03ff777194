import { inject, onTestFinished } from 'vitest'
import { openSource } from './stores/source-choice.ts'
import type { RedisOptions, TestRedis } from './stores/store-source.ts'

/** A Redis of this test alone, to be filled up, set wrong or stopped; it ends with the test. */
export async function startOwnRedis(options: RedisOptions = {}): Promise<TestRedis> {
  const source = await openSource(inject('storeSource'), inject('testRun'))
  const redis = await source.startRedis(options)
  onTestFinished(() => redis.stop())
  return redis
}
