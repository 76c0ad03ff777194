import type { Offset, Partition } from '../plant/offset.ts'

/**
 * The highest offset of each partition (H) that an instance has ever shown to anybody, and at its start
 * the log's last one. "Absent" may be told only from a view that reaches it, or a client could lose
 * a plant that this instance once showed.
 */
export function createReadFloor(lastOffsets: readonly Offset[]) {
  const shown = [...lastOffsets]
  return {
    show(partition: Partition, offset: Offset): void {
      if (offset > (shown[partition] as Offset)) shown[partition] = offset
    },
    /** The offset that a view must reach before it may tell an absence. */
    of(partition: Partition): Offset {
      return shown[partition] as Offset
    },
  }
}
export type ReadFloor = ReturnType<typeof createReadFloor>
