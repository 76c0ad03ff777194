import type { Partition } from '@plant-store/shared/plant/position.ts'
import { formatPartitions } from '@plant-store/shared/runtime/format.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import { RebuildError } from './rebuild-error.ts'

/** A rebuild without progress gives up after this time. */
export const NO_PROGRESS_MS = 60_000
const CHECK_EVERY_MS = 1_000

/** Calls `onStuck` once when `onAlive` was not called for a minute; the signal ends the watch. */
export function startWatchdog({ time, signal, onStuck }: { time: Time; signal: AbortSignal; onStuck(): void }) {
  let aliveAt = time.now()

  async function watch(): Promise<void> {
    while (!signal.aborted) {
      await delay(time, CHECK_EVERY_MS, signal)
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

export function noProgress(partitions: readonly Partition[]): RebuildError {
  return new RebuildError(
    `the rebuild made no progress for ${NO_PROGRESS_MS / 1_000} s (${formatPartitions(partitions)}): Kafka or Redis does not ` +
      'respond, or Redis is full. Run the rebuild again to continue',
  )
}
