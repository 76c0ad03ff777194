import fc from 'fast-check'
import kafkajs from 'kafkajs'
import { expect, it } from 'vitest'
import { partitionOf } from './position.ts'

const placedByKafkajs = kafkajs.Partitioners.DefaultPartitioner()

function kafkajsPartition(key: Buffer, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    ...{ partitionErrorCode: 0, partitionId, leader: 1, replicas: [1], isr: [1] },
  }))
  return placedByKafkajs({ topic: 'plants', partitionMetadata, message: { key, value: null } })
}

it('the partition of a key is where the default partitioner of kafkajs puts it, for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.integer({ min: 1, max: 200 }), (bytes, partitions) => {
      const key = Buffer.from(bytes)
      expect(partitionOf(key, partitions)).toBe(kafkajsPartition(key, partitions))
    }),
    { numRuns: 1_000 },
  )
})
