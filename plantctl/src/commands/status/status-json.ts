import { checkpointOf, judge, lagOf, totalOf } from './judge.ts'
import type { PartitionStatus, StoreStatus } from './read-status.ts'

/** The status as one object for programs; what is not known is null. */
export function statusJson(status: StoreStatus): object {
  const { topic, partitions, readers } = status
  const { problems, notices } = judge(status)
  const total = (of: (one: PartitionStatus) => number | undefined) => totalOf(partitions, of)
  return {
    ...{ well: problems.length === 0, problems, notices, topic },
    totals: {
      offsets: partitions.some(({ end }) => end === undefined) ? null : total(({ end }) => end),
      lag: total(lagOf),
      plants: total(({ live }) => live.plants),
      voids: total(({ live }) => live.voids),
      parked: total(({ live }) => live.parked),
      bytes: total(({ bytes }) => bytes),
    },
    ...readers,
    partitions: partitions.map((one) => ({
      partition: one.partition,
      end: one.end ?? null,
      checkpoint: checkpointOf(one),
      event: one.live.checkpoint?.eventId || null,
      lag: lagOf(one) ?? null,
      plants: one.live.plants,
      voids: one.live.voids,
      parked: one.live.parked,
      generation: one.live.live || null,
      filling: one.filling && {
        generation: one.filling.generation,
        checkpoint: one.filling.checkpoint?.offset ?? -1,
      },
      leftovers: one.leftovers,
      bytes: one.bytes,
    })),
  }
}
