import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { UsageError } from '../../command.ts'
import type { LogPoint } from '../../store/log-point.ts'

/** What to show: of these partitions what lies from the one point on and up to the other. */
export type Selection = {
  partitions: readonly Partition[]
  id: PlantId | undefined
  from: LogPoint | undefined
  to: LogPoint | undefined
  follow: boolean
}

/** What of a partition is shown; `end` is undefined when it goes on with the log. */
export type Shown = { from: Offset; end: Offset | undefined }

/** Where things stand in the log: the next offset to be written, and the first one not before a moment. */
export type LogBounds = {
  ends: readonly Offset[]
  fromMoment?: readonly Offset[]
  toMoment?: readonly Offset[]
}

/**
 * Of which partitions something is selected: those that are named, else that of the id or of the positions, else all.
 * Throws a UsageError when these contradict each other.
 */
export function selectedPartitions(
  named: readonly Partition[] | undefined,
  idsPartition: Partition | undefined,
  points: readonly (LogPoint | undefined)[],
  all: readonly Partition[],
): readonly Partition[] {
  const implied = points.flatMap((point) => (point?.is === 'position' ? [point.position.partition] : []))
  if (idsPartition !== undefined) implied.push(idsPartition)
  const [one] = implied
  if (one === undefined) return named ?? all
  const contradicts = implied.some((other) => other !== one) || named?.some((other) => other !== one)
  if (contradicts) {
    throw new UsageError('--id, --partition and the positions of --from and --to must be of one partition')
  }
  return [one]
}

/** What is shown of each partition. A position is shown itself; a moment ends before it. */
export function shownOf(
  { partitions, id, from, to, follow }: Selection,
  bounds: LogBounds,
): Map<Partition, Shown> {
  const { ends, fromMoment, toMoment } = bounds
  return new Map(
    partitions.map((partition) => {
      const logEnd = ends[partition] as Offset
      const begins = follow && id === undefined ? logEnd : (0 as Offset)
      const first = pointOffset(from, fromMoment?.[partition], (offset) => offset) ?? begins
      const last = pointOffset(to, toMoment?.[partition], after)
      const end = last ?? (follow ? undefined : logEnd)
      const bounded = end === undefined || follow ? end : (Math.min(end, logEnd) as Offset)
      return [partition, { from: first, end: bounded }]
    }),
  )
}

function pointOffset(
  point: LogPoint | undefined,
  atMoment: Offset | undefined,
  ofPosition: (offset: Offset) => Offset,
): Offset | undefined {
  if (point === undefined) return undefined
  return point.is === 'position' ? ofPosition(point.position.offset) : atMoment
}
