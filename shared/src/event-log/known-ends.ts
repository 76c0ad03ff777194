import { after, FIRST, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'

/** The highest next offset that each partition was seen to have. */
export function createKnownEnds() {
  const seen = new Map<Partition, Offset>()

  function note(partition: Partition, end: Offset): void {
    if (end > (seen.get(partition) ?? FIRST)) seen.set(partition, end)
  }

  return {
    note,

    noteAll(ends: readonly Offset[]): void {
      for (const [partition, end] of ends.entries()) note(partition as Partition, end)
    },

    /** How many offsets lie beyond these checkpoints, as far as was seen; undefined when one of them is not known. */
    beyond(passed: ReadonlyMap<Partition, Checkpoint | undefined>): number | undefined {
      let beyond = 0
      for (const [partition, checkpoint] of passed) {
        if (checkpoint === undefined) return undefined
        beyond += Math.max(0, (seen.get(partition) ?? FIRST) - after(checkpoint.offset))
      }
      return beyond
    },
  }
}
