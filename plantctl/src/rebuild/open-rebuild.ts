import { randomUUID } from 'node:crypto'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { createThrowawayGroups, groupPrefix } from '@plant-store/shared/event-log/groups.ts'
import { REPLAY_FETCHES } from '@plant-store/shared/event-log/replay.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { UndecodableError } from '@plant-store/shared/event-log/undecodable.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import type { LogPosition } from '@plant-store/shared/plant/position.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { type LogSource, logReader } from '../store/read-log.ts'
import type { PartitionResult } from './finish.ts'
import { rebuildPartitions } from './rebuild.ts'
import type { RebuildRun } from './rebuild-options.ts'

/** Short waits near the end of the log: the new generation has to catch up with the live one. */
const FETCH_LIMITS = { ...REPLAY_FETCHES, minBytes: 1, maxWaitTimeInMs: 10 }

export function rebuildStore(
  store: LogSource & { generations: Generations },
  run: RebuildRun,
): Promise<PartitionResult[]> {
  const { kafka, topic, partitions, generations, log } = store
  const common = { read: recordReader(partitions), ...store, time: systemTime }
  return rebuildPartitions({
    ...{ ...run, generations, log, time: systemTime },
    follow(sink, only) {
      const { groupId, deleteAll } = createThrowawayGroups(kafka, groupPrefix(topic, 'rebuild'), log)
      const onUndecodable = (at: LogPosition) => sink.onHalt(new UndecodableError(at))
      const reading = { fetchLimits: FETCH_LIMITS, haltsWhenRefused: true, onUndecodable }
      const follower = createFollower({ ...common, ...sink, ...reading, groupId, only })
      return {
        ...follower,
        async close() {
          await follower.close()
          await deleteAll()
        },
      }
    },
    readEnds: async () => (await checkTopic(kafka, { topic, partitions })).ends,
    readerOfLog: (signal, onRead) => logReader(store, signal, onRead),
    freshName: randomUUID,
  })
}
