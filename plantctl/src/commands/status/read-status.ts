import { type Readers, readReaders } from '@plant-store/shared/event-log/groups.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionGenerations } from '@plant-store/shared/read-model/generations.ts'
import type { GenerationState } from '@plant-store/shared/read-model/state.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Store } from '../../store/open-store.ts'

export type PartitionStatus = {
  partition: Partition
  /** The next offset of the log; undefined while a precondition of the topic does not hold. */
  end: Offset | undefined
  live: GenerationState
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
  readers: Readers
  /** Preconditions that do not hold, with their remedies. */
  broken: string[]
  /** Settings that are not recommended for production. */
  warnings: string[]
  /** Keys of this topic in Redis that belong to no generation. */
  strangeKeys: string[]
}

/** Reads the state of read model, log and readers, once each and in this order. */
export async function readStatus({ kafka, readModel, topic, partitions }: Store): Promise<StoreStatus> {
  const { generations } = readModel
  const server = await orBroken(readModel.checkServer)
  const listed = await generations.list()
  const found = await Promise.all(listed.partitions.map(readPartition))
  // The ends after the checkpoints: in the reverse order a checkpoint could appear to be beyond the end.
  const log = await orBroken(() => checkTopic(kafka, { topic, partitions }))
  const readers = await readReaders(kafka, topic)
  const { ends, warnings } = log.found ?? { ends: [], warnings: [] }
  return {
    topic,
    readers,
    warnings,
    partitions: allPartitions(partitions).map((partition) => ({
      ...(found[partition] as (typeof found)[number]),
      end: ends[partition],
    })),
    broken: [server, log].flatMap(({ broken }) => broken ?? []),
    strangeKeys: listed.strange,
  }

  async function readPartition({ partition, filling, names }: PartitionGenerations) {
    const live = await generations.state(partition)
    const isFilling = filling !== '' && filling !== live.live
    const sizes = await Promise.all(names.map((name) => generations.bytes(partition, name)))
    return {
      partition,
      live,
      filling: isFilling ? await generations.state(partition, filling) : undefined,
      leftovers: names.filter((name) => name !== live.live && name !== filling),
      bytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    }
  }
}

async function orBroken<T>(request: () => Promise<T>): Promise<{ found?: T; broken?: string }> {
  try {
    return { found: await request() }
  } catch (error) {
    if (error instanceof PreconditionError) return { broken: error.message }
    throw error
  }
}
