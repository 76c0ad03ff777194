import { PreconditionError } from '../runtime/failures.ts'

/** Raised by a change of what apply.lua makes of a log. A release never applies to what a newer one folded. */
export const FOLD_VERSION = 1

export function assertPartitionCount(found: number, configured: number): void {
  if (found === configured) return
  throw new PreconditionError(
    `the read model was folded from a topic of ${found} partitions, but PLANTS_PARTITIONS is ${configured}: ` +
      'set it right, or use another REDIS_URL, or delete the keys of this topic to have them folded again',
  )
}

export function assertFoldVersion(found: number): void {
  if (found <= FOLD_VERSION) return
  throw new PreconditionError(
    `the read model was folded by a newer release (fold version ${found}, this one has ${FOLD_VERSION}): start that release`,
  )
}
