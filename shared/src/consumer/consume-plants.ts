import { preconditionErrorOf } from '../event-log/broker-errors.ts'
import { createKafka, type Kafka } from '../event-log/connection.ts'
import { readGroupOffsets } from '../event-log/groups.ts'
import { assertWithinBounds } from '../event-log/log-identity.ts'
import { readEnds } from '../event-log/topic.ts'
import { retry } from '../runtime/retry.ts'
import { systemTime } from '../runtime/time.ts'
import { atTimeOf, beginOf } from './begin.ts'
import { consoleLog } from './console-log.ts'
import { type CheckedOptions, type ConsumeOptions, checkOptions } from './consume-options.ts'
import { inMemory } from './first-claims/in-memory.ts'
import { checkpointOfGroup } from './group-position.ts'
import { createPlantConsumer, type PlantConsumer } from './plant-consumer.ts'
import { consumerErrorOf, type PlantConsumerErrorCode } from './plant-consumer-error.ts'
import { REMEDY } from './remedy.ts'

const CONNECT_RETRY = { everyMs: 250, longestMs: 2_000 }

/**
 * Calls a handler with each plant that was created, once in the log and at least once here: in the order of each
 * partition, never with a claim that came too late. Resolves when Kafka has answered and the group is being joined.
 * Rejects with a PlantConsumerError, or with the reason of `signal`.
 */
export async function consumePlants(given: ConsumeOptions): Promise<PlantConsumer> {
  const options = checkOptions(given)
  const { brokers, clientId, topic, signal, log = consoleLog } = options
  const kafka = createKafka(brokers, clientId, log, options)
  try {
    const { topicId, ends, atTime } = await retry(() => ask(kafka, options), {
      ...CONNECT_RETRY,
      giveUpAfterMs: options.connectWithinMs,
      signal,
      onFailure: (err) => log.warn({ err }, 'kafka does not answer yet; trying again'),
    }).catch(failWith('kafka-unreachable'))
    const begin = beginOf(options.from, ends, atTime)
    const surroundings = { topic, partitions: ends.length, kafka, log, time: systemTime }
    const { firstClaims: kind = inMemory() } = options
    const firstClaims = await kind.open(surroundings).catch(failWith('first-claims'))
    const consumer = createPlantConsumer({ ...options, log, topicId }, kafka, begin, firstClaims)
    if (signal?.aborted) await consumer.stop()
    signal?.throwIfAborted()
    return consumer
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

/** Asks what the log looks like, and whether it is the one that the group has committed of. */
async function ask(kafka: Kafka, { topic, groupId, from, signal }: CheckedOptions) {
  signal?.throwIfAborted()
  try {
    // The ends after what was committed of them: the other way round that could seem to lie beyond.
    const committed = await readGroupOffsets(kafka, groupId, topic)
    const { topicId, ends } = await readEnds(kafka, topic)
    const stored = [...committed].map(
      ([partition, found]) => [partition, checkpointOfGroup(found, ends.length)] as const,
    )
    assertWithinBounds(stored, ends, REMEDY)
    return { topicId, ends, atTime: await atTimeOf(from, kafka, topic, ends) }
  } catch (error) {
    throw preconditionErrorOf(error, topic)
  }
}

function failWith(code: PlantConsumerErrorCode) {
  return (error: unknown): never => {
    throw consumerErrorOf(error, code)
  }
}
