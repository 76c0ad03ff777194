import type { Redis } from 'ioredis'
import type { PlantId } from '../plant/plant.ts'
import type { Claim } from '../plant/plant-created.ts'
import { allPartitions, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { decodeEntry, EntryError } from './entry.ts'
import { livePointer, script } from './redis.ts'
import { assertFoldVersion, assertPartitionCount } from './refusals.ts'
import { storedCheckpoint } from './stored-checkpoint.ts'

/**
 * The entries found, in the order asked for, and how far the model had come when they were read. One that
 * this release can't read is an error of its own: others that were asked for along with it are as good as ever.
 */
export type PartitionLookUp = { checkpoint: Offset; entries: (Claim | EntryError | undefined)[] }

export type PartitionMeta = {
  checkpoint: Checkpoint
  plants: number
  voids: number
  parked: number
  generation: string
}

export type LookUp = ReturnType<typeof createLookUp>

/** The scripts that read, by the name of their command. */
export const LOOK_UP_SCRIPTS = {
  plantsLookUp: script('look-up.lua'),
  plantsCheckpoint: script('checkpoint.lua'),
}

/** What the live generations of a topic tell of ids and of themselves. */
export function createLookUp(redis: Redis, { topic, partitions }: { topic: string; partitions: number }) {
  const pointers = allPartitions(partitions).map((partition) => livePointer(topic, partition))
  const pointer = (partition: Partition) => pointers[partition] as string

  return {
    pointer,

    /** One round trip for any number of partitions; each partition's answer is atomic. */
    async lookUp(
      asked: readonly { partition: Partition; ids: readonly PlantId[] }[],
    ): Promise<PartitionLookUp[]> {
      const pipeline = redis.pipeline()
      for (const { partition, ids } of asked)
        pipeline.plantsLookUpBuffer(pointer(partition), ...ids.map(String))
      const answers = (await pipeline.exec()) ?? []
      return asked.map(({ ids }, index) => {
        const [error, found] = answers[index] as [Error | null, (Buffer | null)[]]
        if (error !== null) throw error
        const entries = ids.map((id, at) => {
          const bytes = found[at + 1]
          return bytes ? readEntry(id, bytes) : undefined
        })
        return { checkpoint: offsetOf(String(found[0])), entries }
      })
    },

    /** What the live generation of a partition says of itself. Throws a PreconditionError for one of another topic size. */
    async meta(partition: Partition): Promise<PartitionMeta> {
      const [offset, event, count, fold, plants, voids, parked, generation] = await redis.plantsCheckpoint(
        pointer(partition),
      )
      if (count) assertPartitionCount(Number(count), partitions)
      if (fold) assertFoldVersion(Number(fold))
      return {
        checkpoint: storedCheckpoint(offset, event),
        plants: Number(plants),
        voids: Number(voids),
        parked: Number(parked),
        generation: generation ?? '',
      }
    },
  }
}

function readEntry(id: PlantId, bytes: Buffer): Claim | EntryError {
  try {
    return decodeEntry(id, bytes)
  } catch (error) {
    if (error instanceof EntryError) return error
    throw error
  }
}
