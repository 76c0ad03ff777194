import fc from 'fast-check'
import kafkajs from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { murmur2, partitionOf } from './position.ts'

const placedByKafkajs = kafkajs.Partitioners.DefaultPartitioner()

function kafkajsPartition(key: Buffer, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    ...{ partitionErrorCode: 0, partitionId, leader: 1, replicas: [1], isr: [1] },
  }))
  return placedByKafkajs({ topic: 'plants', partitionMetadata, message: { key, value: null } })
}

describe('the partition of a key', () => {
  // From org.apache.kafka.common.utils.UtilsTest.testMurmur2.
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('hashes %j as the Java clients do', (text, hash) => {
    expect(murmur2(Buffer.from(text))).toBe(hash)
  })

  it('is where the default partitioner of kafkajs puts it, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.integer({ min: 1, max: 200 }), (bytes, partitions) => {
        const key = Buffer.from(bytes)
        expect(partitionOf(key, partitions)).toBe(kafkajsPartition(key, partitions))
      }),
      { numRuns: 1_000 },
    )
  })
})
