import type { Kafka } from 'kafkajs'
import { type ExtendedProducer, kafkajs } from '../kafka-client/kafkajs.ts'
import type { ProducerIdentity } from '../kafka-client/kafkajs-parts.ts'
import type { Produced } from '../kafka-client/leader-producer.ts'
import type { Message } from '../kafka-client/produce-request.ts'
import type { TopicId } from '../kafka-client/topic-id.ts'
import { type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { retry } from '../runtime/retry.ts'
import { preconditionErrorOf, refusalOf, refusedAppend } from './broker-errors.ts'

const ACKS_ALL = -1
const PRODUCE_TIMEOUT_MS = 4_000
/** The time for an election of leaders and coordinators. */
const PATIENCE = { everyMs: 5, longestMs: 1_000, giveUpAfterMs: 60_000 }
/** Kafka ends a transaction after this time. Longer than its three requests can take with all their retries. */
const TRANSACTION_TIMEOUT_MS = 4 * PATIENCE.giveUpAfterMs
const OFFSETS_PER_TRANSACTION_MAX = 20_000
const FILLER: Message = { key: null, value: null }
const SEQUENCES = 2 ** 31
/**
 * OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, UNKNOWN_PRODUCER_ID and PRODUCER_FENCED: the broker knows later
 * batches of this producer, or the producer no more.
 */
const NOT_THIS_PRODUCER = [45, 47, 59, 90]
const ANOTHER_WRITER =
  'another program writes to it, or an earlier run did: run the restore again; if that fails, too, end the other ' +
  'program, delete the topic and restore it again'

/** The beginning of the transactional ids; a partition follows. */
export const restorePrefix = (topic: string) => `${topic}-restore-`

type Identity = ProducerIdentity & { transactionalId?: string }

/**
 * Writes records at given offsets of one topic that nothing else writes to. Each batch has a producer and a sequence
 * number, so a broker that receives it again appends it once and returns the offset of the first time. Errors that can
 * pass are retried for a minute. Throws a PreconditionError for others, and when an offset is not the expected one.
 */
export async function openExactWriter(kafka: Kafka, topic: string, topicId: TopicId | undefined) {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  }) as ExtendedProducer
  const leaders = producer.leadersOf(topic)
  const transactions = producer.transactionsOf(topic)
  const sequences = new Map<string, number>()
  const transactionalIdOf = (partition: Partition) => `${restorePrefix(topic)}${partition}`

  const takenOver = (partition: Partition) =>
    new PreconditionError(`partition ${partition} of ${topic}: another plantctl restore has taken over`)

  /** Retries with new metadata, also when the topic is missing: the brokers learn of a new one a little late. */
  function patiently<T>(request: () => Promise<T>): Promise<T> {
    let failed = false
    const attempt = async () => {
      try {
        if (failed) await leaders.refresh()
        return await request()
      } catch (error) {
        failed = true
        const refusal = refusalOf(error, { topic })
        throw refusal === undefined ? error : new PreconditionError(refusal, 'not-authorized')
      }
    }
    return retry(attempt, PATIENCE).catch((error: unknown) => {
      throw preconditionErrorOf(error, { topic })
    })
  }

  /** Begins or ends a transaction. Without the check, a writer that was ended would retry for a minute. */
  const transact = (partition: Partition, request: () => Promise<void>) =>
    patiently(() =>
      request().catch((error: { code?: number }) => {
        throw NOT_THIS_PRODUCER.includes(error.code ?? 0) ? takenOver(partition) : error
      }),
    )

  async function write(identity: Identity, partition: Partition, messages: readonly Message[], at: Offset) {
    const key = `${identity.producerId} ${partition}`
    const firstSequence = sequences.get(key) ?? 0
    const call = {
      ...{ acks: ACKS_ALL, timeout: PRODUCE_TIMEOUT_MS, topicId, ...identity },
      partitions: [{ partition, messages, firstSequence }],
    }
    await patiently(async () => {
      const leader = leaders.leaderOf(partition)
      if (leader === undefined) throw new Error(`partition ${partition} has no leader`)
      const [produced] = await leaders.produce(leader, 'healthy', call)
      if (produced === undefined) throw new Error('the response does not name the partition')
      assertWritten(produced, at)
    })
    sequences.set(key, (firstSequence + messages.length) % SEQUENCES)
  }

  function assertWritten(produced: Produced, at: Offset): void {
    const { errorCode, baseOffset, partition } = produced
    if (NOT_THIS_PRODUCER.includes(errorCode)) throw takenOver(partition as Partition)
    if (errorCode !== 0) {
      const [why, text] = refusedAppend(produced, topic) ?? ['transient', `Kafka responds with code ${errorCode}`]
      throw why === 'transient' ? new Error(text) : new PreconditionError(text)
    }
    if (offsetOf(baseOffset) !== at) {
      throw new PreconditionError(
        `partition ${partition} of ${topic}: a batch was written at offset ${baseOffset} instead of ${at}: ${ANOTHER_WRITER}`,
      )
    }
  }

  const stableEnd = async (partition: Partition) => offsetOf((await transactions.stableEnd(partition)) ?? -1)

  await patiently(() => leaders.refresh())
  const own = await patiently(() => transactions.identify(TRANSACTION_TIMEOUT_MS))
  const transactional = new Map<Partition, Identity>()

  return {
    /** Ends what a former writer has left open in a partition. Resolves with the partition's end. */
    async takeOver(partition: Partition): Promise<Offset> {
      const transactionalId = transactionalIdOf(partition)
      const identity = await patiently(() => transactions.identify(TRANSACTION_TIMEOUT_MS, transactionalId))
      transactional.set(partition, { ...identity, transactionalId })
      return patiently(() => stableEnd(partition))
    },

    /** Writes records, the first one at offset `at`, in one batch. */
    write: (partition: Partition, messages: readonly Message[], at: Offset) => write(own, partition, messages, at),

    /**
     * Takes the offsets from `from` to before `end` without a record that a reader gets: by aborted transactions, whose
     * ends take one each. A transaction without records takes that one.
     */
    async skip(partition: Partition, from: Offset, end: Offset): Promise<void> {
      const identity = transactional.get(partition) as Identity
      const transactionalId = transactionalIdOf(partition)
      for (let [at, next] = [from, from]; at < end; at = next) {
        next = Math.min(at + OFFSETS_PER_TRANSACTION_MAX, end) as Offset
        await transact(partition, () => transactions.begin(transactionalId, identity, partition))
        const fillers = Array<Message>(next - 1 - at).fill(FILLER)
        if (fillers.length > 0) await write(identity, partition, fillers, at)
        await transact(partition, () => transactions.abort(transactionalId, identity))
        const assertEnded = async () => {
          if ((await patiently(() => stableEnd(partition))) < next) throw new Error('the transaction has not ended yet')
        }
        await retry(assertEnded, PATIENCE)
      }
    },

    close: () => leaders.disconnect(),
  }
}
