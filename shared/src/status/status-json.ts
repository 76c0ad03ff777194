import { assess, checkpointOf, lagOf, totalOf } from './assess.ts'
import type { PartitionStatus, StoreStatus } from './read-status.ts'

export type StatusJson = ReturnType<typeof statusJson>

/** The status as one object; unknown values are null, or NaN, which becomes null in JSON. */
export function statusJson(status: StoreStatus) {
  const { topic, partitions, readers, table } = status
  const { problems, notices } = assess(status)
  const total = (of: (one: PartitionStatus) => number | undefined) =>
    partitions.every((one) => Number.isFinite(of(one))) ? totalOf(partitions, of) : null
  return {
    well: problems.length === 0,
    problems,
    notices,
    topic,
    totals: {
      offsets: total(({ end }) => end),
      lag: total(lagOf),
      plants: total(({ live }) => live.plants),
      voids: total(({ live }) => live.voids),
      parked: total(({ live }) => live.parked),
      bytes: total(({ bytes }) => bytes),
    },
    ...(table !== undefined && { table }),
    ...readers,
    partitions: partitions.map(partitionJson),
  }
}

function partitionJson(one: PartitionStatus) {
  const { partition, end, live, filling, leftovers, bytes } = one
  return {
    partition,
    end: end ?? null,
    checkpoint: checkpointOf(one),
    event: live.checkpoint?.eventId || null,
    lag: lagOf(one) ?? null,
    plants: live.plants,
    voids: live.voids,
    parked: live.parked,
    generation: live.live || null,
    filling: filling && { generation: filling.generation, checkpoint: filling.checkpoint?.offset ?? -1 },
    leftovers,
    bytes,
  }
}
