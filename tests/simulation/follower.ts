import { createPartitionCursors, type RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import { FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Delivery } from '@plant-store/shared/protocol/checkpoint.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import { quietLog } from '../support/quiet-log.ts'
import type { SimulatedProcess } from './clock.ts'
import type { ProcessContext } from './process-context.ts'
import type { Random } from './random.ts'

const MAX_RECORDS = 5
/** One of this many offsets is a batch that a replica has damaged. */
const DAMAGED_EVERY = 3

export type SimulatedFollower = ReturnType<typeof createSimulatedFollower>

/** A model of a kafkajs consumer; the product's partition cursors decide on each delivery. */
export function createSimulatedFollower(
  process: SimulatedProcess,
  sink: RecordSink,
  { log, brokers, network, time }: Pick<ProcessContext, 'log' | 'brokers' | 'network'> & { time: Time },
) {
  const partitions = log.ends().length
  /** `next` is where the next fetch starts; `epoch` counts the seeks. */
  const cursors = Array.from({ length: partitions }, () => ({
    next: FIRST,
    epoch: 0,
    busy: false,
    paused: false,
    /** A fetch that the broker has answered, and the epoch of its request. */
    response: undefined as { delivery: Delivery; epoch: number } | undefined,
  }))
  const cursorOf = (partition: Partition) => cursors[partition] as (typeof cursors)[number]
  const partitionCursors = createPartitionCursors(
    sink,
    {
      pause(partition) {
        // A topic that grew has partitions that this model does not.
        if (partition < partitions) cursorOf(partition).paused = true
      },
      seek(partition, offset) {
        const cursor = cursorOf(partition)
        cursor.paused = false
        cursor.next = offset
        cursor.epoch++
      },
      ends: () => network.call(process, 'read of the log ends', brokers.ends),
    },
    { partitions, time, log: quietLog },
  )

  function fetch(partition: Partition, random: Random, isCalm: boolean) {
    const cursor = cursorOf(partition)
    const end = brokers.fetchedEnd(partition, random)
    if (end === undefined) return undefined
    if (cursor.next > end) {
      void partitionCursors.outOfRange(partition)
      return undefined
    }
    const stray = !isCalm && random.chance(0.05) ? (random.below(end + 1) as Offset) : undefined
    const delivery = log.fetch(partition, stray ?? cursor.next, 1 + random.below(MAX_RECORDS), end)
    const isDamaged = stray !== undefined && stray % DAMAGED_EVERY === 0
    return delivery && { delivery: isDamaged ? undecodable(delivery) : delivery, epoch: cursor.epoch }
  }

  return {
    ...partitionCursors,
    start() {},
    async commitForLagTools() {},
    async close() {
      partitionCursors.close()
    },

    /** A rebalance. Fetches start at any committed offset until the product seeks. */
    rebalance(assigned: readonly Partition[], random: Random): void {
      for (const partition of assigned) {
        if (partition < partitions) cursorOf(partition).next = random.below(log.end(partition) + 1) as Offset
      }
      partitionCursors.assign(assigned)
    },

    /**
     * Fetches, or delivers what was fetched; does nothing without records, or while the last delivery is in progress.
     */
    deliver(partition: Partition, random: Random, isCalm = false): void {
      const cursor = cursorOf(partition)
      partitionCursors.ledBy(partition, brokers.leaders()[partition])
      if (cursor.busy || cursor.paused) return
      cursor.response ??= fetch(partition, random, isCalm)
      if (!isCalm && random.chance(0.3)) return
      const { response } = cursor
      cursor.response = undefined
      // kafkajs drops the response to a fetch from before a seek.
      if (response === undefined || response.epoch !== cursor.epoch) return
      const { delivery } = response
      const after = (delivery.last + 1) as Offset
      if (delivery.records.length === 0 && delivery.undecodable === undefined) {
        // The consumer passes control records and only reports them.
        cursor.next = after
        void partitionCursors.deliver(partition, () => delivery)
        return
      }
      const { epoch } = cursor
      cursor.busy = true
      void partitionCursors
        .deliver(partition, () => (cursor.epoch === epoch ? delivery : undefined))
        .then((reached) => {
          cursor.busy = false
          const isPassed = delivery.undecodable === undefined && reached !== undefined && reached >= delivery.last
          if (isPassed && cursor.epoch === epoch) cursor.next = after
        })
    },
  }
}

function undecodable({ requested }: Delivery): Delivery {
  return {
    requested,
    last: requested,
    records: [],
    undecodable: { offset: requested, codec: '', cause: undefined },
  }
}
