import { randomUUID } from 'node:crypto'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { createProjector } from '../../../services/projector/src/projector.ts'
import { countdown, type Reader } from '../reader.ts'

/** A projector that finds an empty read model. */
export const readIntoRedis: Reader = async (reading, onStart) => {
  const { kafkaBrokers, redisUrl, topic, partitions, events, fetching } = reading
  const log = createLog('bench', 'warn')
  const { all, count, fail } = countdown(events)
  const readModel = createReadModel({ redis: { REDIS_URL: redisUrl }, topic, partitions }, log)
  await readModel.ready()
  const following = {
    ...{ topic, partitions, log, time: systemTime, ...fetching },
    kafka: createKafka(kafkaBrokers.split(','), 'bench', log),
    groupId: () => `bench-${randomUUID()}`,
    read: recordReader(partitions),
  }
  const projector = createProjector({
    readModel: {
      async meta(partition) {
        onStart()
        return readModel.meta(partition)
      },
      async apply(partition, expected, next, records, fresh) {
        const applied = await readModel.apply(partition, expected, next, records, fresh)
        count(applied.is === 'applied' ? records.length : 0)
        return applied
      },
    },
    follow: (sink) => createFollower({ ...following, ...sink }),
    log,
    time: systemTime,
    freshGeneration: randomUUID,
    onHalt: fail,
  })
  projector.start()
  await all
  return async () => {
    await projector.close()
    await readModel.close()
  }
}
