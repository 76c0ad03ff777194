import type { Partition } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { partitionsNamed } from '../terminal/partitions-named.ts'
import { NO_PROGRESS_MS } from './progress.ts'

/** A rebuild can't go on; the message says why and what to do. What it was filling is left for the next one. */
export class RebuildError extends Error {
  override name = 'RebuildError'
}

/** Nothing gets better by trying again. */
export const isFinal = (error: unknown) => error instanceof RebuildError || error instanceof PreconditionError

export function nothingOf(partitions: readonly Partition[]): string {
  return (
    `Redis holds nothing of ${partitionsNamed(partitions)}, or not yet: there is nothing that a rebuild would take the ` +
    'place of. A projector fills it by itself; to have it filled from the log by the rebuild, use --from-empty'
  )
}

export function neverQuiet(partition: Partition): string {
  return (
    `partition ${partition} was verified again and again, and each time something else was there before the switch: ` +
    'another rebuild of it is under way, or Redis fails over all the time. Run the rebuild again'
  )
}

export function stuck(partitions: readonly Partition[]): RebuildError {
  return new RebuildError(
    `the rebuild got no further for ${NO_PROGRESS_MS / 1_000} s (${partitionsNamed(partitions)}): Kafka or Redis is ` +
      'away, or Redis is full. It goes on where it stands when it is run again',
  )
}
