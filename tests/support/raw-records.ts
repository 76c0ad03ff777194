import { type ReplayOptions, replay } from '@plant-store/shared/event-log/replay.ts'
import { readEnds, type TopicKind } from '@plant-store/shared/event-log/topic.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { eventually } from './eventually.ts'
import { quietLog } from './quiet-log.ts'
import type { TestTopic } from './topic.ts'

/** All records that a topic holds now, with their headers, by partition. */
export async function readRawRecords(topic: TestTopic, kind?: TopicKind) {
  const { found } = await replayed(topic, ({ offset }, _partition, message) => ({ offset, message }), kind)
  return found.map(({ message }) => message)
}

/** The records that a replay of a topic gets, also of one with gaps, by partition, its ends and where each one ends. */
export async function replayed<R extends LogRecord>(
  { kafka, topic, partitions }: TestTopic,
  read: ReplayOptions<R>['read'],
  kind?: TopicKind,
) {
  const ends = () => readEnds(kafka, topic, kind?.lost)
  // A broker that is back does not lead its partitions at once.
  const until = (await eventually(ends)).ends
  const byPartition = until.map((): R[] => [])
  const reached = until.map(() => BEFORE_LOG)
  await replay<R>({
    ...{ kafka, topic, partitions, ends, read, log: quietLog, time: systemTime },
    ranges: new Map(until.map((end, partition) => [partition as Partition, { from: BEFORE_LOG, end }])),
    onRecords(partition, records, checkpoint) {
      byPartition[partition]?.push(...records)
      reached[partition] = checkpoint
    },
  })
  return { byPartition, found: byPartition.flat(), reached, ends: until }
}
