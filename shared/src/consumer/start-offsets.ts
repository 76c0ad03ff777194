import type { Kafka } from '../event-log/connection.ts'
import { offsetsAt } from '../event-log/topic.ts'
import { allPartitions, FIRST, type Offset } from '../plant/position.ts'
import type { Begin } from './options.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'

/** The offsets of the time in `from`, one for each partition. Returns the log ends when `from` is not a time. */
export async function offsetsAtTimeOf(from: Begin, kafka: Kafka, topic: string, ends: readonly Offset[]) {
  return typeof from === 'object' && 'time' in from ? offsetsAt(kafka, topic, from.time.getTime()) : ends
}

type Offsets = readonly (Offset | undefined)[]

/**
 * The first offset to deliver in each partition of a log with these ends. `atTime` are the offsets of the time in
 * `from`. Throws a PlantConsumerError when `from.positions` does not fit the log. An unknown end leads to an unknown
 * start, or is not compared.
 */
export function startOffsetsOf(from: Begin, ends: Offsets, atTime: Offsets): Offsets {
  if (from === 'beginning') return ends.map(() => FIRST)
  if (from === 'end') return [...ends]
  if ('time' in from) return [...atTime]
  return allPartitions(ends.length).map((partition) => {
    const next = from.positions.get(partition)
    const end = ends[partition] ?? Number.POSITIVE_INFINITY
    if (next === undefined || next > end || from.positions.size !== ends.length) {
      throw new PlantConsumerError(
        'invalid-options',
        `options: from.positions must contain the next offset of each of the ${ends.length} partitions, and no offset ` +
          `after the end of the log (partition ${partition} ends before offset ${end}; the option has ${next})`,
      )
    }
    return next as Offset
  })
}
