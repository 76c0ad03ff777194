import type { Kafka } from '../event-log/connection.ts'
import { offsetsAt } from '../event-log/topic.ts'
import { allPartitions, FIRST, type Offset } from '../plant/position.ts'
import type { Begin } from './options.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'

/** Where the time of `from` is in each partition; where the log ends if it is no time. */
export async function atTimeOf(
  from: Begin,
  kafka: Kafka,
  topic: string,
  ends: readonly Offset[],
): Promise<readonly Offset[]> {
  return typeof from === 'object' && 'time' in from ? offsetsAt(kafka, topic, from.time.getTime()) : ends
}

/** The next offset of each partition where `from` begins in a log with these ends; `atTime` is where its time does. */
export function beginOf(from: Begin, ends: readonly Offset[], atTime: readonly Offset[]): Offset[] {
  if (from === 'beginning') return ends.map(() => FIRST)
  if (from === 'end') return [...ends]
  if ('time' in from) return [...atTime]
  return allPartitions(ends.length).map((partition) => {
    const next = from.positions.get(partition)
    const end = ends[partition] as Offset
    if (next === undefined || next > end || from.positions.size !== ends.length) {
      throw new PlantConsumerError(
        'invalid-options',
        `options: from.positions must name the next offset of each of the ${ends.length} partitions, none beyond ` +
          `the log's end (partition ${partition} ends before offset ${end}, and ${next} is given)`,
      )
    }
    return next as Offset
  })
}
