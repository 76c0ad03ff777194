import { decodeEntry, EntryError } from '../plant/entry.ts'
import type { PlantId } from '../plant/plant.ts'
import type { Claim } from '../plant/plant-created.ts'
import { allPartitions, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { livePointer, type RedisClient, sendTogether } from './redis.ts'
import { assertFoldVersion, assertPartitionCount, storedCheckpoint } from './state.ts'

/**
 * The entries, in the order of the requested ids, and the checkpoint at which they were read. An entry that this
 * release cannot read is an EntryError in its place: the other entries of the look-up are valid.
 */
export type PartitionLookUp = { checkpoint: Offset; entries: (Claim | EntryError | undefined)[] }

type LookUpRequest = { partition: Partition; ids: readonly PlantId[] }

export type PartitionMeta = Awaited<ReturnType<ReturnType<typeof createLookUp>['meta']>>

export function createLookUp(redis: RedisClient, { topic, partitions }: { topic: string; partitions: number }) {
  const pointers = allPartitions(partitions).map((partition) => livePointer(topic, partition))
  const pointer = (partition: Partition) => pointers[partition] as string

  /**
   * Looks up ids of any number of partitions in one round trip, to a cluster in one to each master, with a promise for
   * each partition. It is read atomically.
   */
  function lookUpEach(requests: readonly LookUpRequest[]): Promise<PartitionLookUp>[] {
    sendTogether(redis)
    return requests.map(async ({ partition, ids }) => {
      const [checkpoint, ...found] = await redis.plantsLookUpBuffer(pointer(partition), ...ids.map(String))
      return { checkpoint: offsetOf(String(checkpoint)), entries: ids.map((id, at) => readEntry(id, found[at])) }
    })
  }

  return {
    pointer,
    lookUpEach,

    /** As `lookUpEach`, all or none. */
    lookUp: (requests: readonly LookUpRequest[]): Promise<PartitionLookUp[]> => Promise.all(lookUpEach(requests)),

    /**
     * The checkpoint and counts of the live generation of a partition. Throws a PreconditionError for a generation of a
     * newer release or of a topic with another number of partitions.
     */
    async meta(partition: Partition) {
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

function readEntry(id: PlantId, bytes: Buffer | null | undefined): Claim | EntryError | undefined {
  try {
    return bytes ? decodeEntry(id, bytes) : undefined
  } catch (error) {
    if (error instanceof EntryError) return error
    throw error
  }
}
