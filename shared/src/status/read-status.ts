import type { Kafka } from '../event-log/connection.ts'
import { type Readers, readReaders } from '../event-log/groups.ts'
import { checkTopic, type TopicSettings } from '../event-log/topic.ts'
import { EntryError } from '../plant/entry.ts'
import { allPartitions, type Offset, type Partition } from '../plant/position.ts'
import type { PartitionGenerations } from '../read-model/generations.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import type { GenerationState } from '../read-model/state.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { TableStatus } from './read-table.ts'

export type PartitionStatus = {
  partition: Partition
  /** The next offset of the log; undefined while a precondition of the topic does not hold. */
  end: Offset | undefined
  live: GenerationState
  /** How many records of the live generation are parked for each reason, of those that were looked at. */
  parkedReasons: ReadonlyMap<number, number>
  /** The generation that a rebuild fills, or was filling when it was interrupted. */
  filling: GenerationState | undefined
  /** Generations that are neither live nor being filled. */
  leftovers: string[]
  /** Memory of all generations in Redis. */
  bytes: number
}

export type StoreStatus = {
  topic: string
  partitions: PartitionStatus[]
  readers: Readers & {
    /** Why they are not known: what Kafka refuses this user. */
    refused?: string
  }
  /** Undefined without a table, or while a precondition of its topic does not hold. */
  table?: TableStatus | undefined
  /** Preconditions that do not hold, with their remedies. */
  broken: string[]
  /** Settings that are not recommended for production. */
  warnings: string[]
  /** Keys of this topic in Redis that belong to no generation. */
  strangeKeys: string[]
}

export type StatusSource = TopicSettings & {
  kafka: Kafka
  readModel: Pick<ReadModel, 'checkServer' | 'generations'>
  /** Reads how far the table is, if there is one. */
  readTable?(): Promise<TableStatus>
}

/** Reads the state of read model, log and readers, once each and in this order. */
export async function readStatus(
  { kafka, readModel, topic, partitions, readTable }: StatusSource,
  readersOf: (kafka: Kafka, topic: string) => Promise<StoreStatus['readers']> = readReaders,
): Promise<StoreStatus> {
  const { generations } = readModel
  const server = await orBroken(readModel.checkServer)
  const listed = await generations.list()
  const found = await Promise.all(listed.partitions.map(readPartition))
  // The ends after the checkpoints: in the reverse order a checkpoint could appear to be beyond the end.
  const log = await orBroken(() => checkTopic(kafka, { topic, partitions }))
  const table = await orBroken(async () => readTable?.())
  const readers = await readersOf(kafka, topic)
  const { ends, warnings } = log.found ?? { ends: [], warnings: [] }
  return {
    topic,
    readers,
    warnings,
    partitions: allPartitions(partitions).map((partition) => ({
      ...(found[partition] as (typeof found)[number]),
      end: ends[partition],
    })),
    table: table.found,
    broken: [server, log, table].flatMap(({ broken }) => broken ?? []),
    strangeKeys: listed.strange,
  }

  async function readPartition({ partition, filling, names }: PartitionGenerations) {
    const live = await generations.state(partition)
    const parkedReasons = live.parked === 0 ? new Map<number, number>() : await reasonsOf(partition, live.live)
    const isFilling = filling !== '' && filling !== live.live
    const sizes = await Promise.all(names.map((name) => generations.bytes(partition, name)))
    return {
      partition,
      live,
      parkedReasons,
      filling: isFilling ? await generations.state(partition, filling) : undefined,
      leftovers: names.filter((name) => name !== live.live && name !== filling),
      bytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    }
  }

  /** Looks at one batch, about 1,000 records, so that many parked records do not make the status slow. */
  async function reasonsOf(partition: Partition, generation: string): Promise<Map<number, number>> {
    const reasons = new Map<number, number>()
    for await (const batch of generations.parked(partition, generation)) {
      for (const [, reason] of batch) reasons.set(Number(reason), (reasons.get(Number(reason)) ?? 0) + 1)
      break
    }
    return reasons
  }
}

async function orBroken<T>(request: () => Promise<T>): Promise<{ found?: T; broken?: string }> {
  try {
    return { found: await request() }
  } catch (error) {
    if (error instanceof PreconditionError || error instanceof EntryError) return { broken: error.message }
    throw error
  }
}
