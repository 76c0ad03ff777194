import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { ConsistencyToken } from '@plant-store/shared/protocol/consistency-token.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'

const CHECKPOINT_EVERY_MS = 20

/**
 * Makes requests that wait for a position cheap: any number of them together read the checkpoint of a partition at most
 * every 20 ms. A client may send a position that no log has.
 */
export function createReachGate(
  { lookUp }: Pick<ReadModel, 'lookUp'>,
  { window }: Pick<ClaimIndex, 'window'>,
  time: Time,
) {
  const latest = new Map<Partition, { readAt: number; checkpoint: Promise<Offset> }>()

  function checkpointOf(partition: Partition): Promise<Offset> {
    const known = latest.get(partition)
    if (known !== undefined && time.now() < known.readAt + CHECKPOINT_EVERY_MS) return known.checkpoint
    const checkpoint = lookUp([{ partition, ids: [] }]).then(([found]) => (found as PartitionLookUp).checkpoint)
    latest.set(partition, { readAt: time.now(), checkpoint })
    return checkpoint
  }

  /** Whether tail or read model have passed all these positions, each on its own: a gap may still be between them. */
  async function arePassed(positions: ConsistencyToken): Promise<boolean> {
    for (const [partition, offset] of positions)
      if (offset >= window(partition).next && offset > (await checkpointOf(partition))) return false
    return true
  }

  /** An attempt that, after one without a result, has no result until these positions are passed. */
  return <T>(positions: ConsistencyToken, attempt: () => Promise<T | undefined>): (() => Promise<T | undefined>) => {
    let isFirst = true
    return async () => {
      if (!isFirst && !(await arePassed(positions))) return undefined
      isFirst = false
      return attempt()
    }
  }
}
