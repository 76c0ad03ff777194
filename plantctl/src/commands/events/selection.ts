import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { after, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { UsageError } from '../../command.ts'
import type { LogPoint } from '../../store/log-point.ts'

/** The records to show: those of these partitions between two points. */
export type Selection = {
  partitions: readonly Partition[]
  id: PlantId | undefined
  from: LogPoint | undefined
  to: LogPoint | undefined
  follow: boolean
}

/** The offsets to show of a partition, `end` excluded; `end` is undefined when the log is followed. */
export type OffsetRange = { from: Offset; end: Offset | undefined }

/** The next offset of each partition, and the first offset at or after a moment. */
export type LogBounds = {
  ends: readonly Offset[]
  fromMoment?: readonly Offset[]
  toMoment?: readonly Offset[]
}

/**
 * The selected partitions: the partition of the id or the positions, else those of `--partition`, else all. Throws a
 * UsageError when these contradict each other.
 */
export function selectedPartitions(
  named: readonly Partition[] | undefined,
  idsPartition: Partition | undefined,
  points: readonly (LogPoint | undefined)[],
  all: readonly Partition[],
): readonly Partition[] {
  const implied = points.flatMap((point) => (point?.is === 'positions' ? [...point.positions.keys()] : []))
  if (idsPartition !== undefined) implied.push(idsPartition)
  const [one] = implied
  if (one === undefined) return named ?? all
  const contradicts = implied.some((other) => other !== one) || named?.some((other) => other !== one)
  if (contradicts) {
    throw new UsageError('--id, --partition and the positions of --from and --to must name the same partition')
  }
  return [one]
}

/** The range of each partition. A position is included; a moment ends before it. */
export function rangesOf(
  { partitions, id, from, to, follow }: Selection,
  bounds: LogBounds,
): Map<Partition, OffsetRange> {
  const { ends, fromMoment, toMoment } = bounds
  return new Map(
    partitions.map((partition) => {
      const logEnd = ends[partition] as Offset
      const start = follow && id === undefined ? logEnd : FIRST
      const first = pointOffset(from, partition, fromMoment?.[partition], (offset) => offset) ?? start
      const last = pointOffset(to, partition, toMoment?.[partition], after)
      const end = last ?? (follow ? undefined : logEnd)
      const bounded = end === undefined || follow ? end : (Math.min(end, logEnd) as Offset)
      return [partition, { from: first, end: bounded }]
    }),
  )
}

function pointOffset(
  point: LogPoint | undefined,
  partition: Partition,
  atMoment: Offset | undefined,
  ofPosition: (offset: Offset) => Offset,
): Offset | undefined {
  if (point?.is !== 'positions') return atMoment
  const offset = point.positions.get(partition)
  return offset === undefined ? undefined : ofPosition(offset)
}
