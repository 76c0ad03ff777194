import { preconditionErrorOf } from '../event-log/broker-errors.ts'
import type { Kafka } from '../event-log/connection.ts'
import { readGroupOffsets } from '../event-log/groups.ts'
import { assertWithinBounds } from '../event-log/log-identity.ts'
import { readKnownEnds, withAllEnds } from '../event-log/topic.ts'
import { allPartitions } from '../plant/position.ts'
import { connectKafka } from './connect-kafka.ts'
import { inMemory } from './first-claims/in-memory.ts'
import { checkpointOfGroup } from './group-position.ts'
import { type CheckedConsumeOptions, type ConsumeOptions, checkConsumeOptions } from './options.ts'
import { createPlantConsumer, type PlantConsumer } from './plant-consumer.ts'
import { consumerErrorOf, REMEDY } from './plant-consumer-error.ts'
import { offsetsAtTimeOf, startOffsetsOf } from './start-offsets.ts'

/**
 * Calls a handler with each plant that was created: at least once, in log order within each partition, and never with a
 * void or repeated claim. Resolves when Kafka has replied and the consumer is joining its group. Rejects with a
 * PlantConsumerError, or with the reason of `signal`.
 */
export async function consumePlants(given: ConsumeOptions): Promise<PlantConsumer> {
  const options = checkConsumeOptions(given)
  const { topic, signal, firstClaims = inMemory() } = options
  try {
    const { kafka, reply } = await connectKafka(options, (client) => readLog(client, options))
    const { topicId, ends, atTime } = reply
    const start = startOffsetsOf(options.from, ends, atTime)
    const openFirstClaims = await firstClaims.open({ topic, partitions: ends.length }).catch((error: unknown) => {
      throw consumerErrorOf(error, 'first-claims')
    })
    const consumer = createPlantConsumer({ ...options, topicId }, kafka, start, openFirstClaims)
    if (signal?.aborted) await consumer.stop()
    signal?.throwIfAborted()
    return consumer
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

/**
 * Reads the log's ends and checks that it is the log in which the group has committed. A partition may have no leader,
 * unless the start of the group depends on its end.
 */
async function readLog(kafka: Kafka, { topic, groupId, from, signal }: CheckedConsumeOptions) {
  signal?.throwIfAborted()
  try {
    // The committed offsets before the ends: in the other order, an offset could seem to be after the end.
    const committed = await readGroupOffsets(kafka, groupId, topic)
    const known = await readKnownEnds(kafka, topic)
    const { topicId, ends } = known
    const stored = [...committed].map(
      ([partition, found]) => [partition, checkpointOfGroup(found, ends.length)] as const,
    )
    assertWithinBounds(stored, ends, REMEDY)
    const hasStart = from === 'beginning' || allPartitions(ends.length).every((partition) => committed.has(partition))
    if (hasStart) return { topicId, ends, atTime: ends }
    const all = withAllEnds(known, topic)
    return { ...all, atTime: await offsetsAtTimeOf(from, kafka, topic, all.ends) }
  } catch (error) {
    throw preconditionErrorOf(error, { topic, groupId })
  }
}
