import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { ConsistencyToken } from '@plant-store/shared/protocol/consistency-token.ts'
import type { PartitionLookUp, ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'

const FIRST_WAIT_MS = 5
const MAX_WAIT_MS = 160
const CHECKPOINT_EVERY_MS = 20

/** `shutdown` is set when the service ends: no read waits longer. */
export type ReadOptions = { time: Time; deadlineMs: number; shutdown?: { at: number } }

/** The reach stayed too low until the deadline; `cause` is the error of the last attempt, if it failed. */
export type NotCovered = { is: 'coverageGap'; cause?: unknown }

/**
 * Returns a function that calls `attempt` until it returns a result, which it does as soon as this instance's reach is
 * high enough. It resolves within the deadline, or when the attempt in flight at the deadline has ended.
 *
 * Requests that wait for positions are cheap, because a client may send one that no log has: after the first attempt
 * there is no other one until these are passed, and any number of requests together read the checkpoint of a partition
 * at most every 20 ms.
 */
export function createRetries(
  { lookUp }: Pick<ReadModel, 'lookUp'>,
  { window, needTail }: Pick<ClaimIndex, 'window' | 'needTail'>,
  { time, deadlineMs, shutdown }: ReadOptions,
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

  return async <T>(positions: ConsistencyToken, attempt: () => Promise<T | undefined>): Promise<T | NotCovered> => {
    const startedAt = time.now()
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
      let failed: { cause?: unknown } = {}
      try {
        const isFirst = waitMs === FIRST_WAIT_MS
        const result = isFirst || (await arePassed(positions)) ? await attempt() : undefined
        if (result !== undefined) return result
        needTail(time.now() - startedAt)
      } catch (cause) {
        failed = { cause }
      }
      const endsAt = Math.min(startedAt + deadlineMs, shutdown?.at ?? Number.POSITIVE_INFINITY)
      if (time.now() + waitMs > endsAt) return { is: 'coverageGap', ...failed }
      await delay(time, waitMs)
    }
  }
}
