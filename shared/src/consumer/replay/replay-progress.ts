import { FIRST, type Offset, type Partition } from '../../plant/position.ts'
import type { Time } from '../../runtime/time.ts'

/** How far a replay has come. Offsets are counted, so that what only ends a transaction counts, too. */
export type ReplayProgress = { read: number; of: number; plants: number; perSecond: number }

export type ReplayProgressOptions = {
  of: number
  everyMs: number
  time: Time
  tell: ((progress: ReplayProgress) => Promise<void>) | undefined
}

/** Tells of progress at most every so often, and at the end. Rejects with what `tell` rejects with. */
export function createReplayProgress({ of, everyMs, time, tell }: ReplayProgressOptions) {
  const beganAt = time.now()
  const next = new Map<Partition, Offset>()
  let toldAt = beganAt
  let read = 0

  async function say(plants: number): Promise<void> {
    toldAt = time.now()
    const seconds = (toldAt - beganAt) / 1_000
    await tell?.({ read, of, plants, perSecond: seconds > 0 ? Math.round(read / seconds) : 0 })
  }

  return {
    /** A partition was read up to before this offset. */
    async note(partition: Partition, nextOffset: Offset, plants: number): Promise<void> {
      const before = next.get(partition) ?? FIRST
      if (nextOffset > before) next.set(partition, nextOffset)
      read += Math.max(0, nextOffset - before)
      if (time.now() - toldAt >= everyMs) await say(plants)
    },
    end: say,
  }
}
