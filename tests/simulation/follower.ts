import { createPartitionCursors, type RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import { FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Log as ProcessLog } from '@plant-store/shared/runtime/log.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import type { SimulatedProcess } from './clock.ts'
import type { Log } from './kafka.ts'
import type { Network } from './network.ts'
import type { Random } from './random.ts'

const MAX_RECORDS = 5

export type SimulatedFollower = ReturnType<typeof createSimulatedFollower>

/** Follows the log as a kafkajs consumer would, with the product's own code judging what it is given. */
export function createSimulatedFollower(
  process: SimulatedProcess,
  sink: RecordSink,
  { log, network, time, quiet }: { log: Log; network: Network; time: Time; quiet: ProcessLog },
) {
  const partitions = log.ends().length
  /** Where the next fetch begins; `turn` counts the seeks. */
  const cursors = Array.from({ length: partitions }, () => ({
    ...{ next: FIRST, turn: 0, busy: false, paused: false },
  }))
  const cursorOf = (partition: Partition) => cursors[partition] as (typeof cursors)[number]
  const positions = createPartitionCursors(
    sink,
    {
      pause(partition) {
        // Of a topic that grew there may be more than are known here.
        if (partition < partitions) cursorOf(partition).paused = true
      },
      seek(partition, offset) {
        const cursor = cursorOf(partition)
        cursor.paused = false
        cursor.next = offset
        cursor.turn++
      },
      ends: async () =>
        (await network.call(process, 'asking for the ends of the log', [log.ends]))[0] as Offset[],
    },
    { partitions, time, log: quiet },
  )

  return {
    ...positions,
    start() {},
    async commitForLagTools() {},
    async close() {
      positions.close()
    },

    /** A rebalance. Where the group thinks it stands, fetches begin until they are sought elsewhere. */
    rebalance(assigned: readonly Partition[], random: Random): void {
      for (const partition of assigned) {
        if (partition < partitions) cursorOf(partition).next = random.below(log.end(partition) + 1) as Offset
      }
      positions.assign(assigned)
    },

    /** Hands over what a fetch brings. Nothing, when nothing is there or the last one is still being taken in. */
    deliver(partition: Partition, random: Random, calm = false): void {
      const cursor = cursorOf(partition)
      if (cursor.busy || cursor.paused) return
      // Out of range: Kafka begins at the first offset again.
      if (cursor.next > log.end(partition)) cursor.next = FIRST
      const stray =
        !calm && random.chance(0.05) ? (random.below(log.end(partition) + 1) as Offset) : undefined
      const delivery = log.fetch(partition, stray ?? cursor.next, 1 + random.below(MAX_RECORDS))
      if (delivery === undefined) return
      const after = (delivery.last + 1) as Offset
      if (delivery.records.length === 0) {
        // The consumer passes these by itself and only tells of them.
        cursor.next = after
        void positions.deliver(partition, () => delivery)
        return
      }
      const { turn } = cursor
      cursor.busy = true
      void positions
        .deliver(partition, () => (cursor.turn === turn ? delivery : undefined))
        .then((reached) => {
          cursor.busy = false
          if (reached !== undefined && reached >= delivery.last && cursor.turn === turn) cursor.next = after
        })
    },
  }
}
