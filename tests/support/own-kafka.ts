import { inject, onTestFinished } from 'vitest'
import { openSource } from './stores/source-choice.ts'
import type { TestKafka } from './stores/store-source.ts'

/** A Kafka of this test alone, to be paused or killed; it ends with the test. */
export async function startOwnKafka(): Promise<TestKafka> {
  const source = await openSource(inject('storeSource'), inject('testRun'))
  const kafka = await source.startKafka()
  onTestFinished(() => kafka.stop())
  return kafka
}
