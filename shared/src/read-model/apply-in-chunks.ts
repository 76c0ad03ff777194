import type { LogRecord } from '../plant/plant-created.ts'
import { type Checkpoint, checkpointAt } from '../protocol/checkpoint.ts'

/** One call of the script; it keeps Redis busy for about 1 ms. */
export const MAX_RECORDS_PER_APPLY = 512

/** Applies records to a partition that stands at `from`, and tells the checkpoint it has then: `next`, or another. */
export type Apply<R extends LogRecord> = (
  from: Checkpoint,
  records: readonly R[],
  next: Checkpoint,
) => Promise<Checkpoint>

/**
 * Applies the records between two checkpoints in chunks, all under way at once: Redis takes one after another while
 * this process makes the next ones, and serves others in between. Each expects the checkpoint that the one before it
 * leaves; so when one fails or is refused, those after it are refused, too, and change nothing.
 *
 * Resolves with `next`, or with another checkpoint to go on from.
 */
export async function applyInChunks<R extends LogRecord>(
  apply: Apply<R>,
  from: Checkpoint,
  records: readonly R[],
  next: Checkpoint,
  maxRecords = MAX_RECORDS_PER_APPLY,
): Promise<Checkpoint> {
  if (records.length <= maxRecords) return apply(from, records, next)
  const wanted: Checkpoint[] = []
  const applying: Promise<Checkpoint>[] = []
  for (let start = 0; start < records.length; start += maxRecords) {
    const chunk = records.slice(start, start + maxRecords)
    const isLast = start + maxRecords >= records.length
    const reached = isLast ? next : checkpointAt((chunk.at(-1) as R).offset, chunk)
    applying.push(apply(wanted.at(-1) ?? from, chunk, reached))
    wanted.push(reached)
  }
  const reached = await Promise.all(applying)
  return reached.find((checkpoint, index) => checkpoint !== wanted[index]) ?? next
}
