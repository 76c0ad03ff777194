import type { Partition } from '@plant-store/shared/plant/position.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'

export type Phase = 'filling' | 'verifying' | 'switching' | 'switched' | 'different'

/** How far the rebuild of one partition is: so many offsets passed, of those that the log had when it began. */
export type Progress = { partition: Partition; phase: Phase; passed: number; of: number }

/** A rebuild that gets no further for so long gives up. */
export const NO_PROGRESS_MS = 60_000
const WATCH_EVERY_MS = 1_000

/** Calls `onStuck` when `onAlive` was not called for a minute, until the signal ends it. */
export function watchProgress({
  time,
  signal,
  onStuck,
}: {
  time: Time
  signal: AbortSignal
  onStuck(): void
}) {
  let aliveAt = time.now()

  async function watch(): Promise<void> {
    while (!signal.aborted) {
      await delay(time, WATCH_EVERY_MS, signal)
      if (!signal.aborted && time.now() - aliveAt >= NO_PROGRESS_MS) return onStuck()
    }
  }

  void watch()
  return {
    onAlive(): void {
      aliveAt = time.now()
    },
  }
}
