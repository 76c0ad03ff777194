import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import {
  foldSlice,
  inSlices,
  RECORDS_AT_ONCE_MAX,
  type ReadLog,
  recordsIn,
  type Slice,
  sumOf,
} from '../verify/slice.ts'

export type PlantsOfLog = {
  read: ReadLog
  /** The offset before which each partition ends. */
  ends: readonly Offset[]
  /** Called with the plants by partition, then in the order of their creation. */
  onPlants(partition: Partition, claims: Claim[]): Promise<void>
  /** Called with the number of records to read. */
  onStart?(records: number): void
  recordsAtOnceMax?: number
}

const PLANTS_AT_ONCE = 1_000
const WHOLE: Slice = { index: 0, count: 1 }

/**
 * Reads the plants that a log has created before some offsets. A partition with more records than fit into memory is
 * folded slice by slice to find its creations; then it is read once more, and these are returned in log order.
 */
export async function readPlantsOfLog(options: PlantsOfLog): Promise<void> {
  const { ends, recordsAtOnceMax = RECORDS_AT_ONCE_MAX } = options
  const groups = inSlices(allPartitions(ends.length), ends, recordsAtOnceMax)
  const sliced = groups.filter(({ slices }) => slices.length > 1).flatMap(({ group }) => group)
  options.onStart?.(recordsIn(groups, ends) + sumOf(sliced, ends))
  for (const { group, slices } of groups) {
    if (slices.length === 1) await readAtOnce(group, options)
    else for (const partition of group) await readInSlices(partition, slices, options)
  }
}

async function readAtOnce(group: readonly Partition[], { read, ends, onPlants }: PlantsOfLog): Promise<void> {
  const states = await foldSlice(read, new Map(group.map((partition) => [partition, ends[partition] as Offset])), WHOLE)
  for (const [partition, { plants }] of states) {
    for (let from = 0; from < plants.size; from += PLANTS_AT_ONCE) {
      const length = Math.min(PLANTS_AT_ONCE, plants.size - from)
      const claims = Array.from({ length }, (_, n) => plants.claimAt(from + n))
      await onPlants(partition, claims)
    }
  }
}

async function readInSlices(
  partition: Partition,
  slices: readonly Slice[],
  { read, ends, onPlants }: PlantsOfLog,
): Promise<void> {
  const end = ends[partition] as Offset
  const creations = createOffsetSet(end)
  for (const slice of slices) {
    const [state] = (await foldSlice(read, new Map([[partition, end]]), slice)).values()
    for (const [, { offset }] of state?.plants ?? []) creations.add(offset)
  }
  await read(new Map([[partition, { from: BEFORE_LOG, end }]]), (_partition, records) =>
    onPlants(
      partition,
      records.flatMap(({ offset, claim }) => (claim !== undefined && creations.has(offset) ? [claim] : [])),
    ),
  )
}

/** Offsets before an end, in one bit each. */
function createOffsetSet(end: Offset) {
  const bytes = Buffer.alloc(Math.ceil(end / 8))
  const byteAt = (offset: Offset) => bytes.readUInt8(Math.floor(offset / 8))
  return {
    add: (offset: Offset) => bytes.writeUInt8(byteAt(offset) | (1 << (offset % 8)), Math.floor(offset / 8)),
    has: (offset: Offset) => ((byteAt(offset) >> (offset % 8)) & 1) === 1,
  }
}
