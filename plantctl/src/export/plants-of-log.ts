import type { Range } from '@plant-store/shared/event-log/replay.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { partitionGroups } from '../verify/partition-groups.ts'
import { ofSlice, RECORDS_AT_ONCE_MAX, slicesFor, slicesOf } from '../verify/slice.ts'
import { createCreations } from './creations.ts'

/** Reads ranges of the log, as replay.ts does. */
export type ReadLog = (
  ranges: ReadonlyMap<Partition, Range>,
  onRecords: (partition: Partition, records: LogRecord[]) => Promise<void> | void,
) => Promise<void>

export type PlantsOfLog = {
  read: ReadLog
  /** Before which offset of each partition to end. */
  ends: readonly Offset[]
  /** Takes in plants in their order: by partition, then as the log created them. */
  onPlants(partition: Partition, claims: Claim[]): Promise<void>
  /** Told how many records there are to read. */
  onBegin?(records: number): void
  recordsAtOnceMax?: number
}

const PLANTS_AT_ONCE = 1_000

/**
 * Tells the plants that a log has created up to some place. Of a partition with more records than fit into memory it
 * is found out slice by slice which of them create a plant; then they are read once more, in their order.
 */
export async function readPlantsOfLog(options: PlantsOfLog): Promise<void> {
  const { ends, recordsAtOnceMax = RECORDS_AT_ONCE_MAX } = options
  const recordsOf = (partition: Partition) => ends[partition] as number
  const partitions = allPartitions(ends.length)
  const slicesOfPartition = (partition: Partition) => slicesFor(recordsOf(partition), recordsAtOnceMax)
  const readings = (partition: Partition) =>
    slicesOfPartition(partition) === 1 ? 1 : slicesOfPartition(partition) + 1
  options.onBegin?.(partitions.reduce((sum, p) => sum + recordsOf(p) * readings(p), 0))
  for (const group of partitionGroups(partitions, recordsOf, recordsAtOnceMax)) {
    const slices = Math.max(...group.map(slicesOfPartition))
    if (slices === 1) await readAtOnce(group, options)
    else for (const partition of group) await readInSlices(partition, slices, options)
  }
}

const wholeOf = (partition: Partition, ends: readonly Offset[]): [Partition, Range] => [
  partition,
  { from: emptyPartition().checkpoint, end: ends[partition] as Offset },
]

async function readAtOnce(group: readonly Partition[], { read, ends, onPlants }: PlantsOfLog): Promise<void> {
  const states = new Map(group.map((partition) => [partition, emptyPartition()]))
  await read(new Map(group.map((partition) => wholeOf(partition, ends))), (partition, records) => {
    fold(states.get(partition) ?? emptyPartition(), records)
  })
  for (const [partition, { plants }] of states) {
    let some: Claim[] = []
    for (const claim of plants.values()) {
      some.push(claim)
      if (some.length < PLANTS_AT_ONCE) continue
      await onPlants(partition, some)
      some = []
    }
    await onPlants(partition, some)
  }
}

async function readInSlices(
  partition: Partition,
  slices: number,
  { read, ends, onPlants }: PlantsOfLog,
): Promise<void> {
  const creations = createCreations(ends[partition] as Offset)
  const range = new Map([wholeOf(partition, ends)])
  for (const slice of slicesOf(slices)) {
    const state = emptyPartition()
    await read(range, (_partition, records) => void fold(state, ofSlice(slice, records)))
    for (const { offset } of state.plants.values()) creations.add(offset)
  }
  await read(range, (_partition, records) =>
    onPlants(
      partition,
      records.flatMap(({ offset, claim }) => (claim !== undefined && creations.has(offset) ? [claim] : [])),
    ),
  )
}
