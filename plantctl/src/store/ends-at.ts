import { checkTopic, offsetsAt } from '@plant-store/shared/event-log/topic.ts'
import {
  after,
  allPartitions,
  FIRST,
  type Offset,
  type Partition,
} from '@plant-store/shared/plant/position.ts'
import { UsageError } from '../command.ts'
import { partitionsNamed } from '../terminal/partitions-named.ts'
import type { AsOfPoint } from './as-of-point.ts'
import type { Store } from './open-store.ts'

/** What is taken of partitions that a position does not name. */
export type Rest = 'now' | 'empty'

/**
 * Before which offset of each partition it ends as of a point. As of a moment it is what comes before the first record that
 * is later. Throws a UsageError for a position that the log has not reached, and where nothing is said of a
 * partition that is wanted.
 */
export async function endsAt(
  store: Pick<Store, 'kafka' | 'topic' | 'partitions'>,
  point: AsOfPoint,
  { rest, wanted = allPartitions(store.partitions) }: { rest?: Rest | undefined; wanted?: Partition[] },
): Promise<Offset[]> {
  if (point.is === 'moment') return offsetsAt(store.kafka, store.topic, point.ms + 1)
  const { positions } = point
  const unnamed = wanted.filter((partition) => !positions.has(partition))
  if (unnamed.length > 0 && rest === undefined) {
    throw new UsageError(
      `the position says nothing of ${partitionsNamed(unnamed)}: add --rest now to take ${unnamed.length === 1 ? 'it' : 'them'} as of now, ` +
        'or --rest empty to leave out what is there',
    )
  }
  const { ends } = await checkTopic(store.kafka, store)
  return ends.map((end, partition) => {
    const position = positions.get(partition as Partition)
    if (position === undefined) return rest === 'now' ? end : FIRST
    if (position >= end) {
      throw new UsageError(
        `${partition}-${position}: partition ${partition} of the log ends before offset ${end}`,
      )
    }
    return after(position)
  })
}
