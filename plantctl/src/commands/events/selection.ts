import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { UsageError } from '../../command.ts'
import type { LogPoint } from '../../store/log-point.ts'

/** The offsets to show of a partition, `end` excluded; `end` is undefined when the log is followed. */
export type OffsetRange = { from: Offset; end: Offset | undefined }

/** The offsets of `--from` and `--to` in the partitions that have one, and the next offset of each partition. */
export type LogBounds = Record<'starts' | 'stops' | 'ends', readonly Offset[]>

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

export function rangesOf(
  partitions: readonly Partition[],
  { starts, stops, ends }: LogBounds,
  { follow, id }: { follow: boolean; id: PlantId | undefined },
): Map<Partition, OffsetRange> {
  return new Map(
    partitions.map((partition) => {
      const logEnd = ends[partition] as Offset
      const from = starts[partition] ?? (follow && id === undefined ? logEnd : FIRST)
      const end = Math.min(stops[partition] ?? logEnd, logEnd) as Offset
      return [partition, { from, end: follow ? undefined : end }]
    }),
  )
}
