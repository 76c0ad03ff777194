import { randomUUID } from 'node:crypto'
import type { Kafka } from '@plant-store/shared/event-log/connection.ts'
import { createFollower, type FollowOptions } from '@plant-store/shared/event-log/follow.ts'
import { createThrowawayGroups, groupPrefix } from '@plant-store/shared/event-log/groups.ts'
import { REPLAY_FETCHES, replay } from '@plant-store/shared/event-log/replay.ts'
import { checkTopic, type TopicSettings } from '@plant-store/shared/event-log/topic.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { createGenerationVerifier, type ReadOptions } from '../verify/generation-comparison.ts'
import { ofSlice, type Slice } from '../verify/slice.ts'
import { createRebuild, type Rebuild } from './rebuild.ts'

export type OpenRebuildOptions = TopicSettings & {
  kafka: Kafka
  generations: Generations
  log: Log
  recordsAtOnceMax?: number
  read?: FollowOptions['read']
}

/** Short waits near the end of the log: the new generation has to catch up with the live one. */
const MAX_WAIT_MS = 10
const MIN_BYTES = 1

/** Creates a rebuild on Kafka and Redis. */
export function openRebuild(options: OpenRebuildOptions): Rebuild {
  const { kafka, topic, partitions, generations, log, recordsAtOnceMax } = options
  const { read = recordReader(partitions) } = options
  const settings = { topic, partitions }
  const common = { kafka, ...settings, log, time: systemTime, read }

  async function foldSlice(partition: Partition, upTo: Offset, slice: Slice, { onRead, signal }: ReadOptions) {
    const state = emptyPartitionOf(createPackedClaims())
    await replay({
      ...common,
      signal,
      ranges: new Map([[partition, { from: BEFORE_LOG, end: after(upTo) }]]),
      onRecords(_partition, records) {
        fold(state, ofSlice(slice, records))
        onRead()
      },
    })
    return state
  }

  return createRebuild({
    generations,
    follow(sink, only) {
      const { groupId, deleteAll } = createThrowawayGroups(kafka, groupPrefix(topic, 'rebuild'), log)
      const fetching = { ...REPLAY_FETCHES, minBytes: MIN_BYTES, maxWaitMs: MAX_WAIT_MS }
      const follower = createFollower({ ...common, ...sink, ...fetching, groupId, only, haltsWhenRefused: true })
      return {
        ...follower,
        async close() {
          await follower.close()
          await deleteAll()
        },
      }
    },
    readEnds: async () => (await checkTopic(kafka, settings)).ends,
    verify: createGenerationVerifier({ reader: generations, partitions, foldSlice }),
    freshName: randomUUID,
    freshMark: randomUUID,
    time: systemTime,
    log,
    ...(recordsAtOnceMax !== undefined && { recordsAtOnceMax }),
  })
}
