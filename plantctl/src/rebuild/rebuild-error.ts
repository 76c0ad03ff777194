import { NO_PROGRESS_MS } from '@plant-store/shared/event-log/replay.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { formatPartitions } from '@plant-store/shared/runtime/format.ts'

/** A rebuild has ended early; the message has the cause and the remedy. The next one continues. */
export class RebuildError extends Error {
  override name = 'RebuildError'
}

/** The attempts of the calls at the start and the end of a rebuild. */
export const RETRYING = { everyMs: 250, giveUpAfterMs: 10_000 }

/** True if retrying is pointless. */
export const isFinal = (error: unknown) => error instanceof RebuildError || error instanceof PreconditionError

export function nothingLive(partitions: readonly Partition[]): RebuildError {
  return new RebuildError(
    `Redis has nothing of ${formatPartitions(partitions)}. Check that REDIS_URL names the right Redis. A running projector ` +
      'fills empty partitions; to fill them by the rebuild, add --from-empty',
  )
}

export function neverStable(partition: Partition): RebuildError {
  return new RebuildError(
    `partition ${partition} changed after each verification and could not be switched: another rebuild is running, or ` +
      'Redis keeps failing over. Run the rebuild again',
  )
}

export function noProgress(partitions: readonly Partition[]): RebuildError {
  return new RebuildError(
    `the rebuild made no progress for ${NO_PROGRESS_MS / 1_000} s (${formatPartitions(partitions)}): Kafka or Redis does not ` +
      'respond, or Redis is full. Run the rebuild again to continue',
  )
}
