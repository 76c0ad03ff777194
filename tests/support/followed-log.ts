import { randomUUID } from 'node:crypto'
import { createFollower, type FollowOptions } from '@plant-store/shared/event-log/follow.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { type LogRecord, recordReader } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { expect, onTestFinished } from 'vitest'
import { eventually } from './eventually.ts'
import { quietLog } from './quiet-log.ts'
import type { TestTopic } from './topic.ts'

/** Options of a follower of this topic in a separate group; a sink is still to be added. */
export const followOptions = (topic: TestTopic) => ({
  ...topic,
  log: quietLog,
  time: systemTime,
  groupId: () => `test-${randomUUID()}`,
  read: recordReader(topic.partitions),
  fetchLimits: { maxWaitTimeInMs: 100 },
})

/** Follows a topic into memory until the test ends. An assignment starts from the checkpoint that is given here. */
export function followLog(
  topic: TestTopic,
  options: Partial<FollowOptions> = {},
  checkpoints = new Map<Partition, Checkpoint>(),
) {
  /** The calls of `onRecords`. */
  const delivered: { partition: Partition; records: LogRecord[]; next: Checkpoint; from: Checkpoint }[] = []
  const halts: Error[] = []
  const follower = createFollower({
    ...followOptions(topic),
    checkpointOf: async (partition) => checkpoints.get(partition) ?? BEFORE_LOG,
    async onRecords(partition, records, next, from) {
      delivered.push({ partition, records, next, from })
      checkpoints.set(partition, next)
      return next
    },
    onHalt: (error) => halts.push(error),
    ...options,
  })
  onTestFinished(() => follower.close())
  follower.start()
  return {
    ...{ follower, delivered, checkpoints, halts },
    /** The delivered offsets of a partition. */
    offsetsOf: (partition: Partition): number[] =>
      delivered.flatMap((call) => (call.partition === partition ? call.records.map(({ offset }) => offset) : [])),

    /** Waits until the checkpoint of each partition is at the present end of the log. */
    async untilAtEnd(): Promise<void> {
      // A broker that is back does not lead its partitions at once.
      const { ends } = await eventually(() => checkTopic(topic.kafka, topic))
      const reached = () => ends.map((_, n) => (checkpoints.get(n as Partition) ?? BEFORE_LOG).offset + 1)
      await eventually(() => expect(reached()).toEqual(ends))
    },
  }
}
