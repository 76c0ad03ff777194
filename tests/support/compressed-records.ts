import { readFileSync } from 'node:fs'
import { LOG } from '@plant-store/shared/event-log/topic.ts'
import { createPrivateKafkajs } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { inject } from 'vitest'
import { setTopicConfig, type TestTopic } from './topic.ts'

/** The same 400 events as compressed by several encoders (`by`), with the names of the codecs in Kafka's settings. */
export const compressedRecords: readonly { by: string; codec: string; records: Buffer }[] = readFileSync(
  new URL('compressed-records.jsonl', import.meta.url),
  'utf8',
)
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line))
  .map(({ records, ...others }) => ({ ...others, records: Buffer.from(records, 'base64') }))

const TOO_LARGE_BYTES = 65 * 1_048_576

/** Makes the broker keep the compression of producers, as by default. */
export const keepCompression = (topic: TestTopic) =>
  setTopicConfig(topic, { ...LOG.required, 'compression.type': 'producer' })

/** The producer of the corrected kafkajs does not compress. */
const others = createPrivateKafkajs().load('index.js') as typeof import('kafkajs')

/** Appends a batch that Kafka accepts and that no reader here decodes: it has more than 64 MiB. */
export async function appendUndecodable(topic: string, partition: Partition): Promise<void> {
  const kafka = new others.Kafka({ brokers: inject('kafkaBrokers').split(','), logLevel: others.logLevel.NOTHING })
  const producer = kafka.producer()
  await producer.connect()
  const messages = [{ key: '1', value: Buffer.alloc(TOO_LARGE_BYTES), partition }]
  await producer.send({ topic, compression: others.CompressionTypes.GZIP, messages })
  await producer.disconnect()
}
