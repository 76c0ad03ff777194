import { randomUUID } from 'node:crypto'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { countdown, type Reader } from '../reader.ts'

/** Follows the topic as the product does, and makes of each record what the protocol sees in it. */
export const readDecoded: Reader = async (reading, onStart) => {
  const { kafkaBrokers, topic, partitions, events, fetching } = reading
  const log = createLog('bench', 'warn')
  const { all, count, fail } = countdown(events)
  const follower = createFollower({
    ...{ topic, partitions, log, time: systemTime, ...fetching },
    kafka: createKafka(kafkaBrokers.split(','), 'bench', log),
    groupId: () => `bench-${randomUUID()}`,
    read: recordReader(partitions),
    async checkpointOf() {
      onStart()
      return BEFORE_LOG
    },
    async onRecords(_partition, records, next) {
      count(records.length)
      return next
    },
    onHalt: fail,
  })
  follower.start()
  await all
  return follower.close
}
