import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { LOG } from '@plant-store/shared/event-log/topic.ts'
import { createPrivateKafkajs } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Message } from 'kafkajs'
import { inject } from 'vitest'
import { newPlant } from './generated-plants.ts'
import { setTopicConfig, type TestTopic } from './topic.ts'

/** The same 400 events as compressed by an encoder (`by`), with the name of the codec in Kafka's settings. */
export type CompressedRecords = { by: string; codec: string; records: Buffer }

export const compressedRecords: readonly CompressedRecords[] = readFileSync(
  new URL('compressed-records.jsonl', import.meta.url),
  'utf8',
)
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line))
  .map(({ records, ...others }) => ({ ...others, records: Buffer.from(records, 'base64') }))

/** The same events without compression. */
export const uncompressedRecords = gunzipSync(
  compressedRecords.find(({ codec }) => codec === 'gzip')?.records ?? Buffer.of(),
)

/** Their time, in milliseconds since 1970. */
export const COMPRESSED_AT = '1700000000000'

/** These events. */
export const compressedEvents: readonly NewRecord[] = Array.from({ length: 400 }, (_, index) => {
  const id = index + 1
  const eventId = `00000000-0000-4000-8000-${String(id).padStart(12, '0')}` as EventId
  return plantCreated(newPlant(BigInt(id)), eventId, 1)
})

/** Codecs by their numbers. */
export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const TOO_LARGE_BYTES = 65 * 1_048_576

/** Makes the broker keep the compression of producers, as by default. */
export const keepCompression = (topic: TestTopic) =>
  setTopicConfig(topic, { ...LOG.required, 'compression.type': 'producer' })

const others = createPrivateKafkajs()
const { Kafka, CompressionCodecs, CompressionTypes, logLevel } = others.load('index.js') as typeof import('kafkajs')
const { GZIP } = CompressionTypes
const gzip = CompressionCodecs[GZIP]

async function send(topic: string, compression: number, messages: Message[]): Promise<void> {
  const kafka = new Kafka({ brokers: inject('kafkaBrokers').split(','), logLevel: logLevel.NOTHING })
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic, compression, messages })
  await producer.disconnect()
}

/** Appends these bytes as one batch. The broker decompresses them, too. */
export async function appendCompressed(topic: string, partition: number, { codec, records }: CompressedRecords) {
  const number = CODECS.indexOf(codec)
  Object.assign(CompressionCodecs, { [number]: () => ({ compress: async () => records }) })
  await send(
    topic,
    number,
    compressedEvents.map((event) => ({ ...event, partition, timestamp: COMPRESSED_AT })),
  )
}

/** Appends a batch that Kafka accepts and that no reader here decodes: it has more than 64 MiB. */
export async function appendUndecodable(topic: string, partition: Partition): Promise<void> {
  Object.assign(CompressionCodecs, { [GZIP]: gzip })
  await send(topic, GZIP, [{ key: '1', value: Buffer.alloc(TOO_LARGE_BYTES), partition }])
}
