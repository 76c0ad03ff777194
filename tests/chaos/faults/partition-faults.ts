import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { MAX_BATCH, readConfiguration, setConfiguration } from '@plant-store/shared/event-log/topic-configuration.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import type { Kafka, Transaction } from 'kafkajs'
import { TOPIC } from '../cluster.ts'
import { CONTINUES_WITHIN_MS, UNTIL_RECOVERED } from '../liveness.ts'
import type { Member } from '../member.ts'
import { createsLedBy, type Draw, type Scene } from './fault.ts'

const PATIENCE = { everyMs: 200, giveUpAfterMs: 60_000 }
/** Limit after which Kafka ends the transaction, if the fault was not removed. */
const TRANSACTION_TIMEOUT_MS = 300_000
/** Larger than a small record, smaller than a large one. */
const SMALL_BYTES = 3_000

/** A topic or partition, and all brokers and their links: these faults need working controllers. */
const targetsOf = (target: string, { brokers, links }: Scene) => [
  target,
  ...[...brokers, ...links].map(({ name }) => name).filter((name) => name.includes('kafka')),
]

/**
 * Reduces the replicas of a partition to its leader and so many others, and ends the last of these brokers. SIGTERM
 * gives all other partitions a new leader and a smaller ISR at once.
 */
const unwritable =
  (kind: string, others: number): Draw =>
  (scene, random) => {
    const { admin, brokers, leaders } = scene
    const partition = random.below(TOPIC.partitions)
    const leader = leaders[partition] as Member
    const kept = [leader, ...brokers.filter((broker) => broker !== leader)].slice(0, 1 + others)
    const ending = kept.at(-1) as Member
    return {
      ...{ kind: `partition: ${kind}`, targets: targetsOf(`partition ${partition}`, scene) },
      effects: [
        { of: 'create', partitions: [partition], forMs: UNTIL_RECOVERED },
        { ...createsLedBy(ending.name, scene), forMs: CONTINUES_WITHIN_MS },
      ],
      async inject() {
        await replicate(admin, partition, kept)
        await ending.end('SIGTERM')
      },
      async heal() {
        await ending.start()
        // All brokers have to have the partition again: the next fault may end any of them.
        const rotated = brokers.map((_, n) => brokers[(n + partition) % brokers.length] as Member)
        await replicate(admin, partition, rotated)
      },
    }
  }

export const PARTITION_FAULTS: readonly Draw[] = [
  unwritable('below min ISR', 1),
  unwritable('no leader', 0),
  (scene, random) => {
    const partition = random.below(TOPIC.partitions)
    const producer = scene.admin.producer({
      ...{ transactionalId: randomUUID(), transactionTimeout: TRANSACTION_TIMEOUT_MS },
      ...{ maxInFlightRequests: 1, idempotent: true },
    })
    let transaction: Transaction | undefined
    return {
      ...{ kind: 'partition: open transaction', targets: targetsOf(`partition ${partition}`, scene) },
      effects: [{ of: 'create', partitions: [partition], forMs: UNTIL_RECOVERED }],
      async inject() {
        await producer.connect()
        transaction = await producer.transaction()
        await transaction.send({ topic: TOPIC.topic, messages: [{ partition, key: 'key', value: 'value' }] })
      },
      async heal() {
        await transaction?.abort()
        await producer.disconnect()
      },
    }
  },
  (scene) => ({
    ...{ kind: 'topic: large records refused', targets: targetsOf(TOPIC.topic, scene) },
    inject: () => setMaxMessageBytes(scene.admin, SMALL_BYTES),
    heal: () => setMaxMessageBytes(scene.admin, undefined),
  }),
]

/** Resolves when exactly these brokers are the in-sync replicas of the partition. */
async function replicate(kafka: Kafka, partition: number, brokers: readonly Member[]): Promise<void> {
  const replicas = brokers.map(({ name }) => Number(name.replace('kafka-', '')))
  const { topic } = TOPIC
  await withAdmin(kafka, async (admin) => {
    await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment: [{ partition, replicas }] }] })
    await retry(async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
      const found = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)
      for (const those of [found?.replicas, found?.isr]) assert.deepEqual(new Set(those), new Set(replicas))
    }, PATIENCE)
  })
}

/** Sets the largest size of a record batch; undefined for the default of the brokers. */
async function setMaxMessageBytes(kafka: Kafka, bytes: number | undefined): Promise<void> {
  // A setting that is not named returns to its default.
  const configuration = new Map(await readConfiguration(kafka, TOPIC.topic))
  configuration.delete(MAX_BATCH)
  if (bytes !== undefined) configuration.set(MAX_BATCH, String(bytes))
  await setConfiguration(kafka, TOPIC.topic, configuration)
}
