import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/offset.ts'
import { partitionOf } from '@plant-store/shared/plant/partition-of.ts'
import type { Plant } from '@plant-store/shared/plant/plant.ts'
import type { PlantId } from '@plant-store/shared/plant/plant-id.ts'
import type { Log } from '@plant-store/shared/process/log.ts'
import { delay, type Time } from '@plant-store/shared/process/time.ts'
import { firstOf, reachOf } from '@plant-store/shared/protocol/view.ts'
import type { PartitionLookUp, ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Position } from '../http/position.ts'
import type { View } from '../view/view.ts'

export type ReadPlant =
  | { is: 'plant'; plant: Plant; partition: Partition; offset: Offset }
  | { is: 'unreadablePlant' | 'noSuchPlant' | 'coverageGap' }

const FIRST_WAIT_MS = 5
const LONGEST_WAIT_MS = 160

export type PlantReader = ReturnType<typeof createPlantReader>

/** Reads plants from the view of this instance: what the read model and the window know together. */
export function createPlantReader(
  readModel: Pick<ReadModel, 'lookUp'>,
  view: View,
  { log, time, deadlineMs }: { log: Log; time: Time; deadlineMs: number },
) {
  /** The answer if the view reaches far enough to give one. */
  async function tryRead(id: PlantId, position: Position | undefined): Promise<ReadPlant | undefined> {
    const partition = partitionOf(Buffer.from(id.toString()), view.partitions)
    const elsewhere = position !== undefined && position.partition !== partition ? position : undefined
    const [own, other] = (await readModel.lookUp([
      { partition, ids: [id] },
      ...(elsewhere === undefined ? [] : [{ partition: elsewhere.partition, ids: [] }]),
    ])) as [PartitionLookUp, PartitionLookUp?]
    // The windows are looked at now, after the read model has answered.
    if (elsewhere !== undefined && other !== undefined) {
      if (reachOf(view.window(elsewhere.partition), other.checkpoint) < elsewhere.offset) return undefined
    }
    const window = view.window(partition)
    const reach = reachOf(window, own.checkpoint)
    const seen = position?.partition === partition ? position.offset : BEFORE_FIRST
    if (reach < seen) return undefined
    const known = firstOf(id, { entry: own.entries[0], checkpoint: own.checkpoint }, window)
    if (known.is === 'unknown') return undefined
    if (known.is === 'absent') {
      return reach < view.horizon.of(partition) ? undefined : { is: 'noSuchPlant' }
    }
    const { plant, offset } = known.first
    view.horizon.show(partition, offset)
    if (plant === undefined) return { is: 'unreadablePlant' }
    return { is: 'plant', plant, partition, offset }
  }

  return {
    /** Answers within the deadline, or when the look-up that is under way then has ended: at the latest that it can't tell. */
    async read(id: PlantId, position: Position | undefined): Promise<ReadPlant> {
      const endsAt = time.now() + deadlineMs
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
        try {
          const answer = await tryRead(id, position)
          if (answer !== undefined) return answer
        } catch (err) {
          log.debug({ err }, 'the read model could not be asked for a plant')
        }
        if (time.now() + waitMs > endsAt) return { is: 'coverageGap' }
        await delay(time, waitMs)
      }
    },
  }
}
